-- One row per judge (provider:model) and mode: what was not paid, and why, in dollars.
-- naive_usd is the bill if each request had been asked once by itself, live, at list price, with
-- nothing cached: n_requests times list_usd of each prompt's counted answer (see bills).
-- saved_by_sharing: requests beyond the first of a prompt cost nothing. Asked together or asked later
-- cannot be told apart, since a request has no time; so this is deduplication and the answer cache.
-- saved_by_batch: list price minus the price of the mode it travelled in, with nothing cached.
-- saved_by_prefix: that minus what was paid, by the provider's prompt cache; less than nothing where
-- writing into it cost more than reading saved. spent_on_retries: all other answers of a prompt.
-- naive_usd = actual_usd + saved_by_sharing + saved_by_batch + saved_by_prefix - spent_on_retries.
-- saved_share = 1 - actual_usd / naive_usd, NULL where the naive bill is nothing. A prompt whose
-- requests are gone counts as one request. n_left_out responses are in no figure: those without a
-- price, and those stored before their unit prices were.
with known as (
    select * from bills where list_usd is not null
),
sums as (
    select
        judge,
        mode,
        coalesce(sum(n_requests) filter (where is_counted), 0)::bigint as n_requests,
        count(*) filter (where is_counted) as n_prompts,
        count(*) as n_responses,
        coalesce(sum(n_requests * list_usd) filter (where is_counted), 0) as naive_usd,
        coalesce(sum((n_requests - 1) * list_usd) filter (where is_counted), 0) as saved_by_sharing,
        coalesce(sum(list_usd - uncached_usd) filter (where is_counted), 0) as saved_by_batch,
        coalesce(sum(uncached_usd - usd) filter (where is_counted), 0) as saved_by_prefix,
        coalesce(sum(usd) filter (where not is_counted), 0) as spent_on_retries,
        sum(usd) as actual_usd
    from known
    group by judge, mode
),
left_out as (
    select judge, mode, count(*) filter (where is_unpriced or usd is not null) as n_left_out
    from bills
    where list_usd is null
    group by judge, mode
)
select
    coalesce(sums.judge, left_out.judge) as judge,
    coalesce(sums.mode, left_out.mode) as mode,
    sums.n_requests,
    sums.n_prompts,
    sums.n_responses,
    coalesce(left_out.n_left_out, 0) as n_left_out,
    sums.naive_usd,
    sums.saved_by_sharing,
    sums.saved_by_batch,
    sums.saved_by_prefix,
    sums.spent_on_retries,
    sums.actual_usd,
    1 - sums.actual_usd / nullif(sums.naive_usd, 0) as saved_share
from sums
full join left_out using (judge, mode)
