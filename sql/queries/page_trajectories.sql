-- One row per trajectory to read on the page, in the order of their import: those that were asked
-- about or annotated.
select
    trajectory_id,
    dataset,
    domain,
    task_id,
    trial,
    agent_model,
    objective,
    policy,
    gold_actions,
    success,
    reward
from trajectories
where trajectory_id in (select trajectory_id from requests)
    or trajectory_id in (select trajectory_id from predictions)
    or trajectory_id in (select trajectory_id from annotations)
order by rowid
