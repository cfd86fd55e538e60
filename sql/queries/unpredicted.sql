-- The requests whose prompt has a readable verdict and which have no prediction yet.
select
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
    first_reads.text
from requests
join first_reads using (prompt_hash)
left join predictions
    on predictions.trajectory_id = requests.trajectory_id
    and predictions.step_index = requests.targets[1]
    and predictions.strategy_digest = requests.strategy_digest
    and predictions.gold = requests.gold
    and predictions.judge = requests.judge
    and predictions.repeat = requests.repeat
where predictions.trajectory_id is null
    and requests.answer not in ('kind', 'evidence', 'findings')
