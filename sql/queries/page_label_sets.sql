-- One row per label set: who made it, and how much of it there is.
select
    annotations.label_set,
    string_agg(distinct annotator, ', ' order by annotator) as annotators,
    count(*) as trajectories,
    sum(coalesce(marks.labels, 0))::bigint as labels,
    sum(coalesce(marks.synthetic, 0))::bigint as synthetic,
    max(imported_at)::timestamp(0) as imported
from annotations
left join (
    select
        label_set,
        trajectory_id,
        count(*) as labels,
        count(*) filter (is_synthetic) as synthetic
    from labels
    group by all
) as marks using (label_set, trajectory_id)
group by annotations.label_set
order by annotations.label_set
