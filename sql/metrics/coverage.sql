-- One row per setting (strategy, strategy_digest, gold, judge) and repeat: what became of its
-- requests, by the newest answer of each one's prompt. Every request is in exactly one of n_answered
-- (an ok answer that could be read) to n_expired_or_cancelled; n_pending has no answer of any kind,
-- n_error is every other failure. coverage = n_answered / n_requests, from 0 to 1.
select
    strategy,
    strategy_digest,
    gold,
    judge,
    repeat,
    count(*) as n_requests,
    count(distinct prompt_hash) as n_prompts,
    count(*) filter (state = 'ok') as n_answered,
    count(*) filter (state is null) as n_pending,
    count(*) filter (state = 'unparseable') as n_unparseable,
    count(*) filter (state = 'refused') as n_refused,
    count(*) filter (state = 'truncated') as n_truncated,
    count(*) filter (
        state not in ('ok', 'unparseable', 'refused', 'truncated', 'expired', 'cancelled')
    ) as n_error,
    count(*) filter (state in ('expired', 'cancelled')) as n_expired_or_cancelled,
    n_answered / n_requests as coverage
from requests
left join newest_answers using (prompt_hash)
group by strategy, strategy_digest, gold, judge, repeat
