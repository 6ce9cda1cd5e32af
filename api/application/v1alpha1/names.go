// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "github.com/fluxcd/pkg/apis/meta"

// ApplicationDefinitionKind is the name of the kind.
const ApplicationDefinitionKind = "ApplicationDefinition"

// MaxName is the greatest length of an instance's name with the prefix: Helm's limit for releases.
const MaxName = 53

// FieldManager owns what Yuba writes to the objects of instances.
const FieldManager = "yuba-applications"

// Labels of the objects that an instance becomes. Cozystack's tools select by them.
const (
	LabelKind  = "apps.cozystack.io/application.kind"
	LabelGroup = "apps.cozystack.io/application.group"
	LabelName  = "apps.cozystack.io/application.name"
	// LabelNamespace is on a tenant's namespace and what belongs to it: the namespace of the instance.
	LabelNamespace = "apps.cozystack.io/application.namespace"
	// UserPrefix begins the labels and annotations of users on these objects.
	UserPrefix = "apps.cozystack.io-"
	// LabelDefinition is on the CustomResourceDefinition of an application kind: its definition.
	LabelDefinition = "cozystack.io/definition"
)

// Annotations of instances, by which their users decide what the schema says nothing about.
const (
	// AnnotationApprovePlan is how the plans of this instance are approved: one of the values that the
	// definition allows.
	AnnotationApprovePlan = "apps.cozystack.io/approve-plan"
	// AnnotationIdentity is the service account of the instance's namespace for its runs: one that the
	// definition allows. On a Namespace it is the default of its instances.
	AnnotationIdentity = "apps.cozystack.io/identity"
	// AnnotationAbandon deletes an instance and leaves what it made: the value is the instance's uid.
	AnnotationAbandon = "apps.cozystack.io/abandon"
	// AnnotationResource is on each object of a composed instance: the id of its resource.
	// AnnotationNeeds has the ids of those that it needs, with commas: they are deleted after it.
	AnnotationResource = "apps.cozystack.io/resource"
	AnnotationNeeds    = "apps.cozystack.io/needs"
	// AnnotationReconcile requests a reconciliation whenever its value changes.
	AnnotationReconcile = meta.ReconcileRequestAnnotation
)

// Annotations of definitions, for Helm's actions, and those of a CustomResourceDefinition that say from
// what it was made.
const (
	AnnotationInstallTimeout     = "release.cozystack.io/helm-install-timeout"
	AnnotationUpgradeTimeout     = "release.cozystack.io/helm-upgrade-timeout"
	AnnotationInstallDisableWait = "release.cozystack.io/helm-install-disable-wait"
	// AnnotationBackend and AnnotationPrefix tell what living instances have: neither may change under
	// them.
	AnnotationBackend = "cozystack.io/backend"
	AnnotationPrefix  = "cozystack.io/prefix"
	// AnnotationAccepted is the spec of the definition that was accepted last, compressed: instances
	// follow it while a later one is refused.
	AnnotationAccepted = "cozystack.io/accepted"
	// AnnotationRollout says which revision the instances of a kind get, and which one all have;
	// AnnotationRevisions has the earlier accepted specs, compressed.
	AnnotationRollout   = "cozystack.io/rollout"
	AnnotationRevisions = "cozystack.io/revisions"
	// AnnotationMade is the digest of what Yuba wrote.
	AnnotationMade = "cozystack.io/made-from"
	// AnnotationStamp is on the object of an instance: the revision of the definition from which it was
	// written, and the generation of the instance. The digest does not include it.
	AnnotationStamp = "cozystack.io/definition-revision"
)

// Labels and annotations of a tenant's namespace. Charts, policies and Cozystack's tools read them.
const (
	// LabelAncestor and the name of a namespace: the tenant of that namespace is an ancestor of this
	// one, or this one. The value is empty.
	LabelAncestor = "tenant.cozystack.io/"
	// LabelInherited and a name: a value that is inherited, such as the host.
	LabelInherited = "namespace.cozystack.io/"
	// LabelScheduling is the inherited scheduling class.
	LabelScheduling = "scheduler.cozystack.io/scheduling-class"
	// AnnotationTenant is what a tenant was granted: its quota, and what its children inherit. Only the
	// server writes it.
	AnnotationTenant = "apps.cozystack.io/tenant"
	// PlatformValues is the Secret with the values of the platform for charts, and the ConfigMap with the
	// inherited ones for stacks.
	PlatformValues = "cozystack-values"
	// TenantQuota is the ResourceQuota of a tenant's namespace.
	TenantQuota = "tenant-quota"
	// TenantRole and a level is the ClusterRole that a tenant's group of that level has.
	TenantRole = "yuba:tenant:"
)

// Levels are what the groups of a tenant may do, each what those before it may, too. The group of a level
// is the tenant's namespace, "-" and the level.
var Levels = []string{"view", "use", "admin", "super-admin"}

// Finalizer keeps an instance until its backend is gone, and a definition until its instances are.
const Finalizer = "apps.cozystack.io/application"

// Conditions of definitions and instances. Reconciling and Stalled are only present while True.
const (
	ConditionReady       = meta.ReadyCondition
	ConditionReconciling = meta.ReconcilingCondition
	ConditionStalled     = meta.StalledCondition
	// ConditionProgramFits is of definitions whose program is in a source or a registry: the program has a
	// variable for each field, a value for each required variable, and the outputs.
	ConditionProgramFits = "ProgramFits"
)

// Reasons of a definition's condition ProgramFits. The first two are also those of Ready.
const (
	// ReasonProgramDiffers: the program and the definition do not fit, or the program has errors.
	ReasonProgramDiffers = "ProgramDiffers"
	// ReasonProgramUnknown: the program is not known yet, because its source has no artifact or the
	// registry no such version. A new definition, or a change, waits.
	ReasonProgramUnknown = "ProgramUnknown"
	// ReasonProgramFits: they fit.
	ReasonProgramFits = "Fits"
	// ReasonProgramNotChecked: only runs can check the program.
	ReasonProgramNotChecked = "NotChecked"
)

// Reasons of a definition's condition Ready.
const (
	// ReasonServed: the kind is served.
	ReasonServed = "Served"
	// ReasonEstablishing: the API does not serve the kind yet.
	ReasonEstablishing = "Establishing"
	// ReasonInvalid: the definition cannot be used as it is.
	ReasonInvalid = "Invalid"
	// ReasonConflict: another definition has the same kind, plural or prefix, and rules.
	ReasonConflict = "Conflict"
	// ReasonForeign: another API server, or somebody else's definition, serves the kind.
	ReasonForeign = "ServedElsewhere"
	// ReasonStrands: living instances do not fit the new schema, backend or prefix.
	ReasonStrands = "StrandsInstances"
	// ReasonInUse: the definition is being deleted, and has instances.
	ReasonInUse = "InUse"
	// ReasonCycle: its kind and others would make each other without end.
	ReasonCycle = "Cycle"
	// ReasonRefused: the API server refused the kind.
	ReasonRefused = "Refused"
)

// Reasons of events about a definition's rollouts.
const (
	// ReasonRolloutBegan: a change begins to reach the instances.
	ReasonRolloutBegan = "RolloutBegan"
	// ReasonRolloutPaused: spec.rollout.paused stops a rollout.
	ReasonRolloutPaused = "RolloutPaused"
	// ReasonRolloutFailed: a rollout pauses, because an instance failed or was not ready in time.
	ReasonRolloutFailed = "RolloutFailed"
	// ReasonRolloutResumed: a rollout goes on.
	ReasonRolloutResumed = "RolloutResumed"
	// ReasonRolloutComplete: all instances have the change.
	ReasonRolloutComplete = "RolloutComplete"
)

// Reasons of an instance's condition Ready.
const (
	// ReasonReady: the backend has what the spec says.
	ReasonReady = "Ready"
	// ReasonProgressing: it is being created or changed.
	ReasonProgressing = meta.ProgressingReason
	// ReasonAwaitingApproval: a plan waits for approval.
	ReasonAwaitingApproval = "AwaitingApproval"
	// ReasonFailed: the backend failed.
	ReasonFailed = "Failed"
	// ReasonDefinition: the definition cannot be used, so the instance stays as it is.
	ReasonDefinition = "DefinitionNotReady"
	// ReasonNotAllowed: an annotation asks for something that the definition does not allow.
	ReasonNotAllowed = "NotAllowed"
	// ReasonNameTaken: another owner has the object that the instance would become.
	ReasonNameTaken = "NameTaken"
	// ReasonBackendMissing: the API does not serve the kind of the backend.
	ReasonBackendMissing = "BackendMissing"
	// ReasonMoved: "yuba move" has moved the object of the instance to another home, or is bringing it.
	ReasonMoved = "Moved"
	// ReasonDeleting: the instance is being deleted.
	ReasonDeleting = "Deleting"
)

// Phases of an instance: its status in one word.
const (
	PhasePending          = "Pending"
	PhaseProgressing      = "Progressing"
	PhaseAwaitingApproval = "AwaitingApproval"
	PhaseReady            = "Ready"
	PhaseFailed           = "Failed"
	PhaseDeleting         = "Deleting"
)

// Prefix is what begins the names of the objects behind instances.
func (d *ApplicationDefinition) Prefix() string {
	switch b := d.Spec.Backend; {
	case d.Spec.Release != nil:
		return d.Spec.Release.Prefix
	case b != nil && b.Helm != nil:
		return b.Helm.Prefix
	case b != nil && b.Terraform != nil:
		return b.Terraform.Prefix
	case b != nil && b.Composition != nil:
		return b.Composition.Prefix
	case b != nil && b.Tenant != nil:
		prefix, _ := b.Tenant.Begin()
		return prefix
	}
	return ""
}
