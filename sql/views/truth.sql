-- One row per label set and judged step of a trajectory annotated in it: what the annotators say.
-- A step without a label is necessary. Labels on steps that are not judged do not appear.
--   is_labelled  redundant according to the label set
select
    annotations.label_set,
    steps.trajectory_id,
    steps.step_index,
    marked.step_index is not null as is_labelled
from steps
join annotations using (trajectory_id)
left join (select distinct label_set, trajectory_id, step_index from labels) as marked
    on marked.label_set = annotations.label_set
    and marked.trajectory_id = steps.trajectory_id
    and marked.step_index = steps.step_index
where steps.judged
