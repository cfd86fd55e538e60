-- The requests whose prompt was asked again and has a readable answer both times, and which have no
-- recheck verdict yet: once a round. Answers that name findings are no verdicts and are left out.
select
    rechecks.round,
    replace(rechecks.prompt_hash::varchar, '-', '') as prompt_hash,
    requests.trajectory_id,
    requests.strategy,
    requests.strategy_digest,
    requests.gold,
    requests.judge,
    requests.repeat,
    requests.answer,
    requests.n_shown,
    requests.targets,
    requests.positions,
    original.text as first_text,
    again.text as again_text
from rechecks
join requests using (prompt_hash)
join first_reads as original on original.prompt_hash = rechecks.prompt_hash
join first_reads as again on again.prompt_hash = rechecks.again_hash
left join recheck_verdicts as known
    on known.round = rechecks.round
    and known.prompt_hash = rechecks.prompt_hash
    and known.trajectory_id = requests.trajectory_id
    and known.step_index = requests.targets[1]
    and known.strategy_digest = requests.strategy_digest
    and known.gold = requests.gold
    and known.judge = requests.judge
where known.round is null and requests.answer in ('verdict', 'positions')
