-- One row per domain and level of length that has trajectories: how many there are (the paper's
-- figure 2). Levels as in length_levels.
--   n_trajectories  all that were imported
--   n_annotated     of these, annotated in at least one label set
select
    domain,
    level,
    messages,
    count(*) as n_trajectories,
    count(*) filter (trajectory_id in (select trajectory_id from annotations)) as n_annotated
from trajectory_lengths
group by domain, level, messages
