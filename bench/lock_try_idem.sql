SELECT acquired, token FROM idem_lock('one for all', '30 seconds') \gset
\if :acquired
SELECT idem_unlock('one for all', :token);
\endif
