-- What this session has taken of a processor.
CREATE FUNCTION processor_ticks() RETURNS bigint LANGUAGE sql AS $$
    SELECT fields[12]::bigint + fields[13]::bigint
    FROM string_to_array(substring(pg_read_file('/proc/self/stat', 0, 1024) FROM '\) (.*)'), ' ') AS fields
$$;
