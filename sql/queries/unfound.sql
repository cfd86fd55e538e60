-- The requests whose prompt has a readable answer with findings of which none are stored yet, with the
-- messages of the steps asked about as in the query unread. A list of findings may be empty:
-- predictions tell that it was read.
with wanted as (
    select *
    from requests
    where answer in ('kind', 'evidence', 'findings')
),

fresh as (
    select wanted.*
    from wanted
    anti join findings
        on wanted.answer <> 'findings'
        and findings.trajectory_id = wanted.trajectory_id
        and findings.strategy = wanted.strategy
        and findings.strategy_digest = wanted.strategy_digest
        and findings.gold = wanted.gold
        and findings.judge = wanted.judge
        and findings.repeat = wanted.repeat
        and findings.target = wanted.targets[1]
        and findings.shown is not distinct from wanted.evidence
    anti join predictions
        on wanted.answer = 'findings'
        and predictions.trajectory_id = wanted.trajectory_id
        and predictions.step_index = wanted.targets[1]
        and predictions.strategy = wanted.strategy
        and predictions.strategy_digest = wanted.strategy_digest
        and predictions.gold = wanted.gold
        and predictions.judge = wanted.judge
        and predictions.repeat = wanted.repeat
),

named as (
    select distinct trajectory_id, targets, unnest(targets) as step_index
    from fresh
),

paired as (
    select
        trajectory_id,
        targets,
        list([call_index, coalesce(result_index, -1)] order by step_index) as pairs
    from named
    join steps using (trajectory_id, step_index)
    group by trajectory_id, targets
)

select
    fresh.trajectory_id,
    fresh.strategy,
    fresh.strategy_digest,
    fresh.gold,
    fresh.judge,
    fresh.repeat,
    fresh.answer,
    fresh.evidence,
    fresh.targets,
    fresh.positions,
    paired.pairs,
    first_reads.text
from fresh
join first_reads using (prompt_hash)
join paired using (trajectory_id, targets)
