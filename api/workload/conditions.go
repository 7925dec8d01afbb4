package workload

// ConditionProgressing tells whether the Deployment is moving towards the spec.
// True while it moves, False when it has arrived or given up, Unknown until its controller has looked at it.
const (
	ConditionProgressing = "Progressing"

	// ReasonRollingOut means that pods are being created, replaced or removed.
	ReasonRollingOut = "RollingOut"
	// ReasonRolloutComplete means that every pod is as the spec says.
	ReasonRolloutComplete = "RolloutComplete"
	// ReasonRolloutPending means that the Deployment's controller has not looked at the latest spec.
	ReasonRolloutPending = "RolloutPending"
	// ReasonRolloutStopped means that nothing moves because of what Degraded says.
	ReasonRolloutStopped = "RolloutStopped"
	// ReasonSuspended means that spec.suspend is true: the operator only reports.
	ReasonSuspended = "Suspended"
	// ReasonTerminating means that the resource is being deleted.
	ReasonTerminating = "Terminating"
)

// Reasons of the condition by which a kind says that it serves (Available of Memcached, Ready of MyApp).
const (
	// ReasonReplicasReady means that all replicas that were asked for are up to date and available.
	ReasonReplicasReady = "ReplicasReady"
	// ReasonReplicasPending means that some of the replicas are not up to date or not available.
	ReasonReplicasPending = "ReplicasPending"
	// ReasonUnschedulable means that no node takes a pod.
	ReasonUnschedulable = "Unschedulable"
	// ReasonSpecNotApplied means that the latest spec could not be applied; Degraded says why.
	ReasonSpecNotApplied = "SpecNotApplied"
	// ReasonDeploymentMissing means that there is no Deployment to report on.
	ReasonDeploymentMissing = "DeploymentMissing"
)

// ConditionDegraded is True when something is wrong that will not pass by waiting alone.
const (
	ConditionDegraded = "Degraded"

	// ReasonAsExpected means that nothing is known to be wrong.
	ReasonAsExpected = "AsExpected"
	// ReasonResourceConflict means that an object of a name that is needed belongs to somebody else.
	ReasonResourceConflict = "ResourceConflict"
	// ReasonInvalidSpec means that the API server refuses what the spec asks for; the spec must change.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonForbidden means that a quota, a policy or missing rights forbid what the spec asks for.
	ReasonForbidden = "Forbidden"
	// ReasonProgressDeadlineExceeded means that the rollout has not moved for the Deployment's deadline.
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
	// ReasonReplicaFailure means that pods cannot be created (quota, Pod Security, admission).
	ReasonReplicaFailure = "ReplicaFailure"
	// ReasonImagePullBackOff means that a pod's image cannot be pulled.
	ReasonImagePullBackOff = "ImagePullBackOff"
	// ReasonCrashLoopBackOff means that a pod's container keeps ending.
	ReasonCrashLoopBackOff = "CrashLoopBackOff"
	// ReasonContainerCannotStart means that a pod's container cannot be created or started.
	ReasonContainerCannotStart = "ContainerCannotStart"
)
