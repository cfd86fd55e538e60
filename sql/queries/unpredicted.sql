-- The requests whose prompt has a readable verdict and which have no prediction yet.
-- Of several readable answers the first one counts, for ever: a later one changes no number.
with first_read as (
    select
        responses.prompt_hash,
        arg_min(responses.text, (responses.received_at, responses.custom_id)) as text
    from responses
    join readings using (batch_id, custom_id)
    where readings.state = 'ok'
    group by responses.prompt_hash
)
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
    first_read.text
from requests
join first_read using (prompt_hash)
left join predictions
    on predictions.trajectory_id = requests.trajectory_id
    and predictions.step_index = requests.targets[1]
    and predictions.strategy_digest = requests.strategy_digest
    and predictions.gold = requests.gold
    and predictions.judge = requests.judge
    and predictions.repeat = requests.repeat
where predictions.trajectory_id is null
    and requests.answer not in ('kind', 'evidence', 'findings')
