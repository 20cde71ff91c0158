SELECT token FROM idem_lock('one for all', '30 seconds', '1 minute') \gset
SELECT idem_unlock('one for all', :token);
