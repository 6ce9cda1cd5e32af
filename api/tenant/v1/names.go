// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1

// Labels and annotations of Tenant Operator, and of Yuba.
const (
	// LabelRegistry and LabelUID are on tenants; LabelUID is on their objects, too.
	LabelRegistry = "kubernetes-tenants.org/registry"
	LabelUID      = "kubernetes-tenants.org/uid"
	// LabelTenant and LabelTenantNamespace are on objects without an owner reference to the tenant.
	LabelTenant          = "kubernetes-tenants.org/tenant"
	LabelTenantNamespace = "kubernetes-tenants.org/tenant-namespace"
	// LabelHome is on objects in another cluster: the API of their tenant, as the UID of its
	// namespace "default". Two servers may have tenants of one name. Addition of Yuba.
	LabelHome = "operator.kubernetes-tenants.org/home"
	// LabelOrphaned is on objects that stay after their tenant or template entry is gone.
	LabelOrphaned = "kubernetes-tenants.org/orphaned"

	// Values of the tenant's row. AnnotationExtra is a JSON object of the extra variables.
	AnnotationHostOrURL          = "kubernetes-tenants.org/hostOrUrl"
	AnnotationActivate           = "kubernetes-tenants.org/activate"
	AnnotationExtra              = "kubernetes-tenants.org/extra"
	AnnotationTemplateGeneration = "kubernetes-tenants.org/template-generation"

	// AnnotationCreatedOnce is on objects that are never changed once they exist.
	AnnotationCreatedOnce = "kubernetes-tenants.org/created-once"
	// AnnotationDeletionPolicy is on every object of a tenant, for when its template is gone.
	AnnotationDeletionPolicy = "kubernetes-tenants.org/deletion-policy"
	AnnotationOrphanedAt     = "kubernetes-tenants.org/orphaned-at"
	AnnotationOrphanedReason = "kubernetes-tenants.org/orphaned-reason"

	// AnnotationRegistry is the registry's name, if that is too long for LabelRegistry.
	// Addition of Yuba.
	AnnotationRegistry = "operator.kubernetes-tenants.org/registry"
	// AnnotationInactiveSince is on a tenant in its grace period after its row became inactive (RFC
	// 3339). Addition of Yuba.
	AnnotationInactiveSince = "operator.kubernetes-tenants.org/inactive-since"
	// AnnotationRolloutStart is when a tenant last got another generation of its template (RFC
	// 3339). Addition of Yuba; Lynq has another.
	AnnotationRolloutStart = "operator.kubernetes-tenants.org/rollout-update-start"
	// AnnotationConfirmDeletion: people copy status.held.id of a registry into it to confirm the
	// deletion. Addition of Yuba.
	AnnotationConfirmDeletion = "operator.kubernetes-tenants.org/confirm-deletion"

	// ValueTrue is the value of LabelOrphaned and AnnotationCreatedOnce.
	ValueTrue = "true"
	// OrphanedTenantDeleted and OrphanedRemoved are values of AnnotationOrphanedReason.
	OrphanedTenantDeleted = "TenantDeleted"
	OrphanedRemoved       = "RemovedFromTemplate"
)

const (
	// FieldManager owns the applied fields.
	FieldManager = "tenant-operator"
	// Finalizer is on every tenant.
	Finalizer = "tenant.operator.kubernetes-tenants.org/finalizer"
	// TemplateFinalizer is on templates with tenants. Addition of Yuba.
	TemplateFinalizer = "template.operator.kubernetes-tenants.org/finalizer"
	// PublishedRegistryFinalizer is Tenant Operator's on registries. Yuba removes it.
	PublishedRegistryFinalizer = "kubernetes-tenants.org/registry-finalizer"
)

// Types of conditions.
const (
	// ConditionReady: the last reading succeeded; all objects of a tenant exist and are ready.
	ConditionReady = "Ready"
	// ConditionHeld: a registry's deletion waits for confirmation. Addition of Yuba.
	ConditionHeld = "Held"

	// ConditionValid and ConditionApplied are conditions of a template.
	ConditionValid   = "Valid"
	ConditionApplied = "Applied"

	// Conditions of a tenant.
	ConditionProgressing = "Progressing"
	ConditionConflicted  = "Conflicted"
	ConditionDegraded    = "Degraded"
)

// Reasons of a registry's conditions.
const (
	ReasonDatabaseConnected        = "DatabaseConnected"
	ReasonDatabaseConnectionFailed = "DatabaseConnectionFailed"

	// Additions of Yuba: why a registry cannot be read, other than an unreachable database.
	ReasonSourceDenied   = "SourceDenied"
	ReasonSourceNotFound = "SourceNotFound"
	ReasonSourceTooLarge = "SourceTooLarge"
	ReasonSourceInvalid  = "SourceInvalid"
	ReasonDeletionHeld   = "DeletionHeld"
	ReasonNothingHeld    = "NothingHeld"
)

// Reasons of a template's conditions.
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

// Reasons of a tenant's conditions.
const (
	ReasonReconciled                   = "Reconciled"
	ReasonNotAllResourcesReady         = "NotAllResourcesReady"
	ReasonResourcesFailed              = "ResourcesFailed"
	ReasonResourcesConflicted          = "ResourcesConflicted"
	ReasonResourcesFailedAndConflicted = "ResourcesFailedAndConflicted"
	ReasonVariablesBuildError          = "VariablesBuildError"
	ReasonDependencyError              = "DependencyError"
	ReasonDependencyCycle              = "DependencyCycle"

	// Reasons of Progressing.
	ReasonReconciling       = "Reconciling"
	ReasonReconcileComplete = "ReconcileComplete"
	// Reasons of Conflicted.
	ReasonResourceConflict = "ResourceConflict"
	ReasonNoConflict       = "NoConflict"
	// Reasons of Degraded.
	ReasonHealthy                      = "Healthy"
	ReasonResourceFailures             = "ResourceFailures"
	ReasonResourceConflicts            = "ResourceConflicts"
	ReasonResourceFailuresAndConflicts = "ResourceFailuresAndConflicts"

	// Additions of Yuba.
	ReasonRegistryGone = "RegistryGone"
	ReasonDeleting     = "Deleting"

	// ReasonMoved of Ready, for templates of Applied: another home works on the object, or will do so soon.
	ReasonMoved = "Moved"
)

// Reasons of events.
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
