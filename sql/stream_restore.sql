-- A restore is told from other sessions by what every dump sets, not by the name of its program.
SET client_min_messages = warning;
CREATE TABLE restored (id text, body text);
SELECT idem_stream_attach('restored', 'restored', 'id');
INSERT INTO restored VALUES ('a', 'first'), ('b', 'first');

-- Each of the two settings alone is somebody else's.
SET check_function_bodies = off;
INSERT INTO restored VALUES ('a', 'again');
RESET check_function_bodies;
SELECT pg_catalog.set_config('search_path', '', false);
INSERT INTO public.restored VALUES ('a', 'again');

SET check_function_bodies = off;
SET application_name = 'nightly';
INSERT INTO public.restored VALUES ('c', 'new');
INSERT INTO public.restored VALUES ('a', 'again');
COPY public.restored FROM stdin;
d	new
b	again
\.
SELECT id, body FROM public.restored ORDER BY id;

-- The name alone says nothing.
RESET search_path;
RESET check_function_bodies;
SET application_name = 'pg_restore';
INSERT INTO restored VALUES ('a', 'again');

RESET application_name;
DROP TABLE restored;
