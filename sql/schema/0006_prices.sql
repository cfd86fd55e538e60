-- What an answer cost, and why: tokens written into a prompt cache, the unit prices in dollars per
-- million tokens, where these are from, and what the same prompt costs live with nothing cached.
-- With usage, cost_usd is exactly ((input - cached - written) * usd_per_m_input + cached *
-- usd_per_m_cached + ... ) / 1e6. Without a known price all of it is NULL, and never 0.
alter table responses add column write_5m_tokens integer;
alter table responses add column write_1h_tokens integer;
alter table responses add column list_usd double;
alter table responses add column usd_per_m_input double;
alter table responses add column usd_per_m_cached double;
alter table responses add column usd_per_m_write_5m double;
alter table responses add column usd_per_m_write_1h double;
alter table responses add column usd_per_m_output double;
alter table responses add column price_source varchar;
