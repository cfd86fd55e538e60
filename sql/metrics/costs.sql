-- One row per judge (provider:model), mode, strategy and domain: what its answers cost, by kind of
-- token. Retries, answers that could not be read, and those of batches that failed on the way are in
-- it. A prompt that several requests share is paid for once, by the first of them; strategy and domain
-- are NULL for answers whose requests are gone. usd is the sum of usd_fresh, usd_cached, usd_write_5m,
-- usd_write_1h, usd_output and usd_unsplit (answers stored before their unit prices were). Dollars
-- rest on the n_priced responses and are NULL where there is none; the n_unpriced, whose price or
-- usage is not known, are in no sum of dollars; the others of n_responses brought no answer and no
-- bill. Tokens are of all responses that told them; reasoning_tokens are among output_tokens.
select
    judge,
    mode,
    strategy,
    domain,
    count(*) as n_responses,
    count(usd) as n_priced,
    count(*) filter (where is_unpriced) as n_unpriced,
    count(*) filter (where not is_counted and usd is not null) as n_retries,
    sum(fresh_tokens)::bigint as fresh_tokens,
    sum(cached_tokens)::bigint as cached_tokens,
    sum(write_5m_tokens)::bigint as write_5m_tokens,
    sum(write_1h_tokens)::bigint as write_1h_tokens,
    sum(output_tokens)::bigint as output_tokens,
    sum(reasoning_tokens)::bigint as reasoning_tokens,
    sum(usd_fresh) as usd_fresh,
    sum(usd_cached) as usd_cached,
    sum(usd_write_5m) as usd_write_5m,
    sum(usd_write_1h) as usd_write_1h,
    sum(usd_output) as usd_output,
    sum(usd) filter (where usd_fresh is null) as usd_unsplit,
    sum(usd) as usd
from bills
group by judge, mode, strategy, domain
