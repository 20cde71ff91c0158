\set id random(1, :records)
UPDATE orders SET status = CASE status WHEN 'pending' THEN 'paid' ELSE 'pending' END WHERE id = :id;
