// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1

// The labels and annotations of the published operator, and those of ours.
const (
	// LabelRegistry and LabelUID are on tenants; LabelUID is on everything that belongs to one, too.
	LabelRegistry = "kubernetes-tenants.org/registry"
	LabelUID      = "kubernetes-tenants.org/uid"
	// LabelTenant and LabelTenantNamespace are on objects that no owner reference can lead to their tenant.
	LabelTenant          = "kubernetes-tenants.org/tenant"
	LabelTenantNamespace = "kubernetes-tenants.org/tenant-namespace"
	// LabelHome is on objects in another cluster than their tenant's: which API the tenant is at, as the uid of its namespace "default".
	// Two servers may have tenants of one name. Addition of Yuba.
	LabelHome = "operator.kubernetes-tenants.org/home"
	// LabelOrphaned is on objects that were kept when their tenant or their place in its template went.
	LabelOrphaned = "kubernetes-tenants.org/orphaned"

	// What tenants know of their row. AnnotationExtra is a JSON object of the extra variables.
	AnnotationHostOrURL          = "kubernetes-tenants.org/hostOrUrl"
	AnnotationActivate           = "kubernetes-tenants.org/activate"
	AnnotationExtra              = "kubernetes-tenants.org/extra"
	AnnotationTemplateGeneration = "kubernetes-tenants.org/template-generation"

	// AnnotationCreatedOnce is on objects that are left alone once they are there.
	AnnotationCreatedOnce = "kubernetes-tenants.org/created-once"
	// AnnotationDeletionPolicy is on every object of a tenant: what becomes of it when nobody has its template any more.
	AnnotationDeletionPolicy = "kubernetes-tenants.org/deletion-policy"
	AnnotationOrphanedAt     = "kubernetes-tenants.org/orphaned-at"
	AnnotationOrphanedReason = "kubernetes-tenants.org/orphaned-reason"

	// AnnotationRegistry is on a tenant whose registry has a name that is too long for LabelRegistry: it has the whole name.
	// Addition of Yuba.
	AnnotationRegistry = "operator.kubernetes-tenants.org/registry"
	// AnnotationInactiveSince is on a tenant whose row is inactive or gone, while it has its time of grace (RFC 3339).
	// Addition of Yuba.
	AnnotationInactiveSince = "operator.kubernetes-tenants.org/inactive-since"
	// AnnotationRolloutStart is on a tenant: when it was last brought to another generation of its template (RFC 3339).
	// Addition of Yuba; Lynq has one of its own.
	AnnotationRolloutStart = "operator.kubernetes-tenants.org/rollout-update-start"
	// AnnotationConfirmDeletion is what people write on a registry: status.held.id, so that this deletion goes on. Addition of
	// Yuba.
	AnnotationConfirmDeletion = "operator.kubernetes-tenants.org/confirm-deletion"

	// ValueTrue is what LabelOrphaned and AnnotationCreatedOnce say.
	ValueTrue = "true"
	// OrphanedTenantDeleted and OrphanedRemoved are what AnnotationOrphanedReason says.
	OrphanedTenantDeleted = "TenantDeleted"
	OrphanedRemoved       = "RemovedFromTemplate"
)

const (
	// FieldManager owns the fields that are applied.
	FieldManager = "tenant-operator"
	// Finalizer is on every tenant.
	Finalizer = "tenant.operator.kubernetes-tenants.org/finalizer"
	// TemplateFinalizer is on templates with tenants. Addition of Yuba.
	TemplateFinalizer = "template.operator.kubernetes-tenants.org/finalizer"
	// PublishedRegistryFinalizer is on registries that the published operator had. Nobody needs it any more, and nobody else
	// takes it off.
	PublishedRegistryFinalizer = "kubernetes-tenants.org/registry-finalizer"
)

// The types of conditions.
const (
	// ConditionReady: a registry could be read; a tenant has all its objects, and all are ready.
	ConditionReady = "Ready"
	// ConditionHeld is a registry's: a deletion waits for somebody to confirm it. Addition of Yuba.
	ConditionHeld = "Held"

	// ConditionValid and ConditionApplied are a template's.
	ConditionValid   = "Valid"
	ConditionApplied = "Applied"

	// The others are a tenant's.
	ConditionProgressing = "Progressing"
	ConditionConflicted  = "Conflicted"
	ConditionDegraded    = "Degraded"
)

// The reasons of a registry's conditions.
const (
	ReasonDatabaseConnected        = "DatabaseConnected"
	ReasonDatabaseConnectionFailed = "DatabaseConnectionFailed"

	// Additions of Yuba: what keeps a registry from being read, apart from its database being out of reach.
	ReasonSourceDenied   = "SourceDenied"
	ReasonSourceNotFound = "SourceNotFound"
	ReasonSourceTooLarge = "SourceTooLarge"
	ReasonSourceInvalid  = "SourceInvalid"
	ReasonDeletionHeld   = "DeletionHeld"
	ReasonNothingHeld    = "NothingHeld"
)

// The reasons of a template's conditions.
const (
	ReasonValidationPassed = "ValidationPassed"
	ReasonValidationFailed = "ValidationFailed"
	ReasonAllTenantsReady  = "AllTenantsReady"
	ReasonNotAllReady      = "NotAllTenantsReady"
	ReasonNoTenants        = "NoTenants"

	// Additions of Yuba.
	ReasonRegistryNotFound  = "RegistryNotFound"
	ReasonRegistryNotRead   = "RegistryNotRead"
	ReasonRolloutInProgress = "RolloutInProgress"
	ReasonRolloutPaused     = "RolloutPaused"
	ReasonTemplateDeleting  = "TemplateDeleting"
)

// The reasons of a tenant's conditions.
const (
	ReasonReconciled                   = "Reconciled"
	ReasonNotAllResourcesReady         = "NotAllResourcesReady"
	ReasonResourcesFailed              = "ResourcesFailed"
	ReasonResourcesConflicted          = "ResourcesConflicted"
	ReasonResourcesFailedAndConflicted = "ResourcesFailedAndConflicted"
	ReasonVariablesBuildError          = "VariablesBuildError"
	ReasonDependencyError              = "DependencyError"
	ReasonDependencyCycle              = "DependencyCycle"

	// Of Progressing.
	ReasonReconciling       = "Reconciling"
	ReasonReconcileComplete = "ReconcileComplete"
	// Of Conflicted.
	ReasonResourceConflict = "ResourceConflict"
	ReasonNoConflict       = "NoConflict"
	// Of Degraded.
	ReasonHealthy                      = "Healthy"
	ReasonResourceFailures             = "ResourceFailures"
	ReasonResourceConflicts            = "ResourceConflicts"
	ReasonResourceFailuresAndConflicts = "ResourceFailuresAndConflicts"

	// Additions of Yuba.
	ReasonRegistryGone = "RegistryGone"
	ReasonDeleting     = "Deleting"
)

// The reasons of events.
const (
	EventDatabaseQueryFailed = "DatabaseQueryFailed"
	EventRenderFailed        = "TemplateRenderFailed"
	EventDataUpdated         = "DataUpdated"

	EventValidationPassed = "ValidationPassed"
	EventValidationFailed = "ValidationFailed"
	EventRegistryNotFound = "RegistryNotFound"

	EventTemplateAppliedSuccess   = "TemplateAppliedSuccess"
	EventTemplateAppliedPartial   = "TemplateAppliedPartial"
	EventTemplateRenderError      = "TemplateRenderError"
	EventResourceConflict         = "ResourceConflict"
	EventApplyFailed              = "ApplyFailed"
	EventReadinessTimeout         = "ReadinessTimeout"
	EventDependencySkipped        = "DependencySkipped"
	EventOrphanedResourceDeleted  = "OrphanedResourceDeleted"
	EventOrphanedResourceRetained = "OrphanedResourceRetained"
	EventResourceRetained         = "ResourceRetained"
	EventTenantDeleting           = "TenantDeleting"
	EventTenantDeleted            = "TenantDeleted"

	// Additions of Yuba.
	EventRowsRejected      = "RowsRejected"
	EventDeletionHeld      = "DeletionHeld"
	EventDeletionConfirmed = "DeletionConfirmed"
	EventRolloutPaused     = "RolloutPaused"
	EventRolloutComplete   = "RolloutComplete"
)
