-- The ok texts that no parser has read, each with one request that tells how to read it: one that
-- needs its prompt, or the prompt that a recheck asked again. pairs: the messages of the steps asked
-- about, [call, result], for the forms that name steps so; -1: no result.
with needed as (
    select prompt_hash, answer, positions, n_shown, trajectory_id, targets from requests
    union all
    select
        rechecks.again_hash,
        requests.answer,
        requests.positions,
        requests.n_shown,
        requests.trajectory_id,
        requests.targets
    from rechecks
    join requests using (prompt_hash)
),

asked as (
    select
        prompt_hash,
        any_value(answer) as answer,
        any_value(positions) as positions,
        any_value(n_shown) as n_shown
    from needed
    group by prompt_hash
),

-- Trajectories that share a prompt show the same messages: any of them will do, but one.
named as (
    select
        prompt_hash,
        min(trajectory_id) as trajectory_id,
        unnest(arg_min(targets, trajectory_id)) as step_index
    from needed
    where answer in ('kind', 'evidence', 'findings')
    group by prompt_hash
),

paired as (
    select
        prompt_hash,
        list([call_index, coalesce(result_index, -1)] order by step_index) as pairs
    from named
    join steps using (trajectory_id, step_index)
    group by prompt_hash
)

select
    responses.batch_id,
    responses.custom_id,
    asked.answer,
    asked.positions,
    asked.n_shown,
    coalesce(paired.pairs, []) as pairs,
    responses.text
from responses
join asked using (prompt_hash)
left join paired using (prompt_hash)
anti join readings using (batch_id, custom_id)
where responses.outcome = 'ok'
