-- UUIDs that carry a time.
SET TIME ZONE 'UTC';
SELECT pg_typeof(idem_uuid7()),
    idem_uuid7()::text ~ '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$' AS version_7;
SELECT clock_timestamp() - idem_uuid_time(idem_uuid7()) BETWEEN '-1 s' AND '1 min' AS just_now;
-- A million in one session, each greater than the one before.
SELECT count(*), count(*) FILTER (WHERE id <= previous) AS not_greater, count(DISTINCT id)
FROM (SELECT id, lag(id) OVER (ORDER BY n) AS previous
    FROM (SELECT n, idem_uuid7() AS id FROM generate_series(1, 1000000) AS n) AS made) AS compared;
-- The random bits, 62 after the variant: no two alike, and each bit set half of the time.
CREATE TABLE made AS
    SELECT ('x' || right(replace(idem_uuid7()::text, '-', ''), 16))::bit(64) AS bits FROM generate_series(1, 10000);
SELECT count(DISTINCT bits) FROM made;
SELECT count(*) FILTER (WHERE set BETWEEN 4700 AND 5300) AS even, count(*) FILTER (WHERE set IN (0, 10000)) AS fixed
FROM (SELECT sum(get_bit(bits, bit)) AS set FROM made, generate_series(0, 63) AS bit GROUP BY bit) AS b;
DROP TABLE made;
-- Each call reads the clock, also in a transaction.
BEGIN;
SELECT idem_uuid7() AS a \gset
DO $$
DECLARE
    began timestamptz := clock_timestamp();
BEGIN
    WHILE clock_timestamp() < began + '20 ms' LOOP
    END LOOP;
END $$;
SELECT idem_uuid_time(idem_uuid7()) >= idem_uuid_time(:'a') + '20 ms' AS later;
ROLLBACK;

-- Shifted ones are of another time, and ascend as well.
SELECT shift,
    clock_timestamp() + shift::interval - idem_uuid_time(idem_uuid7(shift::interval)) BETWEEN '-1 s' AND '1 min' AS then
FROM unnest(ARRAY['0', '-1 day', '1 month', '-50 years', '8000 years', '-1 us', '1 mon -30 days +1 s']) AS shift;
SELECT count(*) FILTER (WHERE id <= previous) AS not_greater
FROM (SELECT id, lag(id) OVER (ORDER BY n) AS previous
    FROM (SELECT n, idem_uuid7('-1 h') AS id FROM generate_series(1, 10000) AS n) AS made) AS compared;
SELECT idem_uuid7('-60 years');
SELECT idem_uuid7('9000 years');
-- Also where no timestamp holds what the time would be, at the end or on the way there.
SELECT shift, attempt(format('SELECT idem_uuid7(%L) IS NOT NULL', shift))
FROM unnest(ARRAY['290000 years', '300000 years', '-10000 years', '178000000 years', '-178000000 years',
    '2147483647 days', '-2147483648 days', '2147483647 hours', '-2147483647 hours', '2147483647 hours 2147483647 days',
    '-8000 years 2922000 days', '8000 years -2922000 days', '200000 years -73048500 days',
    '-2147483648 months 2147483647 days']) AS shift;
-- All over the range of timestamps, and round its ends in years, days and hours.
SELECT attempt(format('SELECT idem_uuid7(%L) IS NOT NULL', shift)), count(*)
FROM (SELECT make_interval(years => n) FROM generate_series(-12000, -200, 25) AS n
    UNION ALL SELECT make_interval(years => n) FROM generate_series(8900, 300000, 500) AS n
    UNION ALL SELECT make_interval(months => n) FROM generate_series(-6780 * 12, -6700 * 12) AS n
    UNION ALL SELECT make_interval(months => n) FROM generate_series(292200 * 12, 292280 * 12) AS n
    UNION ALL SELECT make_interval(days => n) FROM generate_series(-2480000, -2440000, 7) AS n
    UNION ALL SELECT make_interval(days => n) FROM generate_series(106700000, 106760000, 7) AS n
    UNION ALL SELECT make_interval(hours => n) FROM generate_series(-59500000, -58700000, 101) AS n) AS s (shift)
GROUP BY 1;

-- The floor of a time, for ranges.
SELECT at, idem_uuid7_floor(at::timestamptz), idem_uuid_time(idem_uuid7_floor(at::timestamptz))
FROM unnest(ARRAY['1970-01-01', '1970-01-01 00:00:00.001', '2025-01-01 12:34:56.789999',
    '10889-08-02 05:31:50.655999']) AS at;
SELECT idem_uuid7_floor('1969-12-31 23:59:59.999999');
SELECT idem_uuid7_floor('10889-08-02 05:31:50.656');
SELECT idem_uuid7_floor('infinity');
SELECT idem_uuid7_floor('-infinity');
SELECT idem_uuid7_floor(NULL);

-- The time of others: versions 1, 6 and 7 have one.
SELECT id, idem_uuid_time(id::uuid)
FROM unnest(ARRAY['c232ab00-9414-11ec-b3c8-9f6bdeced846', '1ec9414c-232a-6b00-b3c8-9f6bdeced846',
    '017f22e2-79b0-7cc3-98c4-dc0c0c07398f', '00000000-0000-1000-8000-000000000000', 'ffffffff-ffff-7fff-bfff-ffffffffffff',
    '00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff', '919108f7-52d1-4320-9bac-f847db4148a8',
    '5df41881-3aed-3515-88a7-2f4a814cf09e', '2ed6657d-e927-568b-95e1-2665a8aea6a2', '2489e9ad-2ee2-8e00-8ec9-32d5f69181c0',
    '017f22e2-79b0-7cc3-58c4-dc0c0c07398f']) AS id;
SELECT idem_uuid_time(NULL);

-- As a default, in an index, in a parallel plan and on a read-only transaction.
CREATE TABLE rows (id uuid PRIMARY KEY DEFAULT idem_uuid7(), n integer);
INSERT INTO rows (n) SELECT generate_series(1, 1000);
COPY rows (n) FROM stdin;
1001
1002
\.
SELECT count(*) FROM (SELECT row_number() OVER (ORDER BY id) AS place, n FROM rows) AS r WHERE place <> n;
BEGIN READ ONLY;
SELECT idem_uuid7() IS NOT NULL AS made;
COMMIT;
SELECT proparallel FROM pg_proc WHERE proname = 'idem_uuid7';
DROP TABLE rows;
