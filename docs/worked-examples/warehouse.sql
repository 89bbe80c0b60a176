-- A made-up warehouse of three months. Its today is 2026-06-30; no clock and no chance is in it.
CREATE TABLE countries AS
SELECT n AS id, printf('Country %03d', n + 1) AS name FROM range(212) AS t(n);

CREATE TABLE customers AS
SELECT n AS id, n * n * 212 // 360000 AS country_id FROM range(600) AS t(n);

-- One rate for each currency and month: a join without the month meets three of them.
CREATE TABLE rates AS
SELECT currency, month, round(euro * (1 + drift * date_diff('month', DATE '2026-04-01', month)), 4) AS rate
FROM (VALUES ('EUR', 1.0, 0.0), ('USD', 0.92, 0.01), ('INR', 0.011, -0.01)) AS c(currency, euro, drift),
     (VALUES (DATE '2026-04-01'), (DATE '2026-05-01'), (DATE '2026-06-01')) AS m(month);

CREATE TABLE orders AS
SELECT n AS id,
       n * 7919 % 600 AS customer_id,
       TIMESTAMP '2026-04-01 00:00:00' + to_days((n * 31 % 91)::INTEGER) + to_minutes(n * 37 % 1440) AS order_ts,
       ['EUR', 'USD', 'INR'][1 + n % 3] AS currency,
       round(CASE n % 3 WHEN 2 THEN 90 ELSE 1 END * (10 + n * 13 % 190 + (n % 100) / 100), 2) AS amount
FROM range(12000) AS t(n);

-- What finance says: revenue in EUR of each day and country.
CREATE TABLE daily_revenue AS
SELECT o.order_ts::DATE AS day, c.name AS country, round(sum(o.amount * r.rate), 2) AS revenue
FROM orders AS o
JOIN customers AS k ON k.id = o.customer_id
JOIN countries AS c ON c.id = k.country_id
JOIN rates AS r ON r.currency = o.currency AND r.month = date_trunc('month', o.order_ts)
GROUP BY ALL ORDER BY ALL;
