// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"slices"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	automationv1 "github.com/fluxcd/image-automation-controller/api/v1"
	imagev1 "github.com/fluxcd/image-reflector-controller/api/v1"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	notificationv1beta3 "github.com/fluxcd/notification-controller/api/v1beta3"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// Kind is a kind of objects that commands name by a word. Stacks need no word.
type Kind struct {
	GVK schema.GroupVersionKind
	// Plural is its name in the API and for "yuba get".
	Plural string
	// Word is its name for the other commands.
	Word string
	// Also are its other names for "yuba get".
	Also []string
	// Source: commands name it after the word source.
	Source bool
	// Fetched: it can be reconciled on request.
	Fetched bool
	// Suspends: it can be suspended.
	Suspends bool
	// Reports: it has conditions.
	Reports bool
	// Made: the server creates and deletes its objects.
	Made bool
	// ClusterWide: its objects have no namespace.
	ClusterWide bool
}

// One is the kind with its article, for sentences.
func (k Kind) One() string {
	if k.GVK == StackKind {
		return "a stack"
	}
	return diagnostic.WithArticle(k.GVK.Kind)
}

// Named is an object of the kind in a sentence: team-a/vpc of a stack, GitRepository team-a/infra.
func (k Kind) Named(key types.NamespacedName) string {
	if k.GVK == StackKind {
		return key.String()
	}
	return k.GVK.Kind + " " + keyInWords(key)
}

// The kinds.
var (
	GitRepositories = Kind{GVK: sourcev1.GroupVersion.WithKind("GitRepository"), Plural: "gitrepositories", Word: "git",
		Also: []string{"gitrepository", "gitrepo", "gitrepos"}, Source: true, Fetched: true, Suspends: true, Reports: true}
	OCIRepositories = Kind{GVK: sourcev1.GroupVersion.WithKind("OCIRepository"), Plural: "ocirepositories", Word: "oci",
		Also: []string{"ocirepository", "ocirepo", "ocirepos"}, Source: true, Fetched: true, Suspends: true, Reports: true}
	Buckets = Kind{GVK: sourcev1.GroupVersion.WithKind("Bucket"), Plural: "buckets", Word: "bucket",
		Also: []string{"bucket"}, Source: true, Fetched: true, Suspends: true, Reports: true}
	externalArtifacts = Kind{GVK: sourcev1.GroupVersion.WithKind("ExternalArtifact"), Plural: "externalartifacts", Word: "external",
		Also: []string{"externalartifact"}, Source: true, Reports: true}
	HelmRepositories = Kind{GVK: sourcev1.GroupVersion.WithKind("HelmRepository"), Plural: "helmrepositories", Word: "helm",
		Also: []string{"helmrepository", "helmrepo", "helmrepos"}, Source: true, Fetched: true, Suspends: true, Reports: true}
	HelmCharts = Kind{GVK: sourcev1.GroupVersion.WithKind("HelmChart"), Plural: "helmcharts", Word: "chart",
		Also: []string{"helmchart", "hc"}, Source: true, Fetched: true, Suspends: true, Reports: true}
	HelmReleases = Kind{GVK: helmv2.GroupVersion.WithKind("HelmRelease"), Plural: "helmreleases", Word: "helmrelease",
		Also: []string{"helmrelease", "hr"}, Fetched: true, Suspends: true, Reports: true}
	ModuleSources = Kind{GVK: yubav1.GroupVersion.WithKind(yubav1.ModuleSourceKind), Plural: "modulesources", Word: "module",
		Also: []string{"modulesource", "modsrc"}, Source: true, Fetched: true, Suspends: true, Reports: true}
	ImageRepositories = Kind{GVK: imagev1.GroupVersion.WithKind(imagev1.ImageRepositoryKind), Plural: "imagerepositories", Word: "image-repository",
		Also: []string{"imagerepository", "image-repositories", "imagerepo", "imgrepo"}, Fetched: true, Suspends: true, Reports: true}
	ImagePolicies = Kind{GVK: imagev1.GroupVersion.WithKind(imagev1.ImagePolicyKind), Plural: "imagepolicies", Word: "image-policy",
		Also: []string{"imagepolicy", "image-policies", "imagepol", "imgpol"}, Fetched: true, Suspends: true, Reports: true}
	ImageUpdates = Kind{GVK: automationv1.GroupVersion.WithKind(automationv1.ImageUpdateAutomationKind), Plural: "imageupdateautomations", Word: "image-update",
		Also: []string{"imageupdateautomation", "image-updates", "iua", "imgupd", "imgauto"}, Fetched: true, Suspends: true, Reports: true}
	Kustomizations = Kind{GVK: kustomizev1.GroupVersion.WithKind("Kustomization"), Plural: "kustomizations", Word: "kustomization",
		Also: []string{"kustomization", "ks"}, Fetched: true, Suspends: true, Reports: true}
	Receivers = Kind{GVK: notificationv1.GroupVersion.WithKind("Receiver"), Plural: "receivers", Word: "receiver",
		Also: []string{"receiver"}, Fetched: true, Suspends: true, Reports: true}
	Providers = Kind{GVK: notificationv1beta3.GroupVersion.WithKind("Provider"), Plural: "providers", Word: "alert-provider",
		Also: []string{"provider", "alert-provider", "alert-providers"}, Suspends: true}
	Alerts = Kind{GVK: notificationv1beta3.GroupVersion.WithKind("Alert"), Plural: "alerts", Word: "alert",
		Also: []string{"alert"}, Suspends: true}
	// CircuitBreakers are not in AllKinds: they have their own commands.
	CircuitBreakers = Kind{GVK: yubav1.GroupVersion.WithKind(yubav1.CircuitBreakerKind), Plural: "circuitbreakers", Word: "circuitbreaker",
		Also: []string{"circuitbreaker", "cb"}, Reports: true, ClusterWide: true}
	// Policies and ClusterPolicies are not in AllKinds, either.
	Policies = Kind{GVK: yubav1.GroupVersion.WithKind(yubav1.PolicyKind), Plural: "policies", Word: "policy",
		Also: []string{"policy"}, Reports: true}
	ClusterPolicies = Kind{GVK: yubav1.GroupVersion.WithKind(yubav1.ClusterPolicyKind), Plural: "clusterpolicies", Word: "clusterpolicy",
		Also: []string{"clusterpolicy"}, Reports: true, ClusterWide: true}
	// PullRequestPlanners have their own commands, too.
	PullRequestPlanners = Kind{GVK: yubav1.GroupVersion.WithKind(yubav1.PullRequestPlannerKind), Plural: "pullrequestplanners", Word: "planner"}
	// FailoverRecords have their own commands, too.
	FailoverRecords = Kind{GVK: yubav1.GroupVersion.WithKind(yubav1.FailoverRecordKind), Plural: "failoverrecords", Word: "failoverrecord",
		Also: []string{"failoverrecord"}, Suspends: true, Reports: true}
	// Platforms have their own commands, too.
	Platforms = Kind{GVK: yubav1.GroupVersion.WithKind(yubav1.PlatformKind), Plural: "platforms", Word: "platform",
		Also: []string{"platform"}, Suspends: true, Reports: true}
	// Subdomains have their own commands, too.
	SubdomainPools = Kind{GVK: yubav1.GroupVersion.WithKind(yubav1.SubdomainPoolKind), Plural: "subdomainpools", Word: "subdomainpool",
		Also: []string{"subdomainpool"}, Reports: true}
	SubdomainClaims = Kind{GVK: yubav1.GroupVersion.WithKind(yubav1.SubdomainClaimKind), Plural: "subdomainclaims", Word: "subdomainclaim",
		Also: []string{"subdomainclaim"}, Reports: true}
	// ApplicationDefinitions have their own commands, too.
	ApplicationDefinitions = Kind{GVK: appv1.GroupVersion.WithKind(appv1.ApplicationDefinitionKind), Plural: "applicationdefinitions", Word: "definition",
		Also: []string{"applicationdefinition", "appdef"}, Reports: true, ClusterWide: true}
	TenantRegistries = Kind{GVK: tenantv1.GroupVersion.WithKind(tenantv1.TenantRegistryKind), Plural: "tenantregistries", Word: "tenantregistry",
		Also: []string{"tenantregistry", "tr"}, Fetched: true, Reports: true}
	TenantTemplates = Kind{GVK: tenantv1.GroupVersion.WithKind(tenantv1.TenantTemplateKind), Plural: "tenanttemplates", Word: "tenanttemplate",
		Also: []string{"tenanttemplate", "tt"}, Reports: true}
	Tenants = Kind{GVK: tenantv1.GroupVersion.WithKind(tenantv1.TenantKind), Plural: "tenants", Word: "tenant",
		Also: []string{"tenant"}, Reports: true, Made: true}
	Stacks = Kind{GVK: StackKind, Plural: "terraforms", Word: "terraform",
		Also: []string{"terraform", "tf", "stacks", "stack"}, Fetched: true, Suspends: true, Reports: true}
)

// AllKinds are in the order of their dependencies.
var AllKinds = []Kind{GitRepositories, OCIRepositories, Buckets, externalArtifacts, HelmRepositories, HelmCharts, ModuleSources, Kustomizations, HelmReleases, ImageRepositories, ImagePolicies, ImageUpdates, TenantRegistries, TenantTemplates, Tenants, Stacks, Receivers, Providers, Alerts}

// SourceKinds are the kinds that --source may name.
var SourceKinds = []string{infrav1.SourceKindGitRepository, infrav1.SourceKindOCIRepository, infrav1.SourceKindBucket, infrav1.SourceKindExternalArtifact}

// KindNamed finds a kind by any of its names.
func KindNamed(name string) (Kind, bool) {
	for _, k := range AllKinds {
		if name == k.GVK.Kind || name == k.Plural || name == k.Word || slices.Contains(k.Also, name) {
			return k, true
		}
	}
	return Kind{}, false
}

// KindOf finds the kind of an object, whatever the version of its API.
func KindOf(gk schema.GroupKind) (Kind, bool) {
	for _, k := range AllKinds {
		if k.GVK.GroupKind() == gk {
			return k, true
		}
	}
	return Kind{}, false
}

// addKinds adds all kinds to a mapper. Discovery would cost more requests.
func addKinds(mapper *meta.DefaultRESTMapper) {
	for _, k := range AllKinds {
		gv := k.GVK.GroupVersion()
		mapper.AddSpecific(k.GVK, gv.WithResource(k.Plural), gv.WithResource(k.Plural), meta.RESTScopeNamespace)
	}
	for _, k := range []Kind{CircuitBreakers, Policies, ClusterPolicies, PullRequestPlanners, FailoverRecords, SubdomainPools, SubdomainClaims, Platforms, ApplicationDefinitions} {
		resource, scope := k.GVK.GroupVersion().WithResource(k.Plural), meta.RESTScopeNamespace
		if k.ClusterWide {
			scope = meta.RESTScopeRoot
		}
		mapper.AddSpecific(k.GVK, resource, resource, scope)
	}
	core := corev1.SchemeGroupVersion
	mapper.AddSpecific(core.WithKind("Namespace"), core.WithResource("namespaces"), core.WithResource("namespaces"), meta.RESTScopeRoot)
	mapper.AddSpecific(core.WithKind("Secret"), core.WithResource("secrets"), core.WithResource("secrets"), meta.RESTScopeNamespace)
	mapper.AddSpecific(core.WithKind("ConfigMap"), core.WithResource("configmaps"), core.WithResource("configmaps"), meta.RESTScopeNamespace)
	leases := coordinationv1.SchemeGroupVersion
	mapper.AddSpecific(leases.WithKind("Lease"), leases.WithResource("leases"), leases.WithResource("leases"), meta.RESTScopeNamespace)
	mapper.AddSpecific(core.WithKind("Event"), core.WithResource("events"), core.WithResource("events"), meta.RESTScopeNamespace)
}

// Singular is kubectl's word for one object: gitrepository.
func (k Kind) Singular() string { return strings.ToLower(k.GVK.Kind) }

// People is the plural for sentences.
func (k Kind) People() string {
	switch {
	case k.GVK == StackKind:
		return "stacks"
	case strings.HasSuffix(k.GVK.Kind, "y"):
		return strings.TrimSuffix(k.GVK.Kind, "y") + "ies"
	}
	return k.GVK.Kind + "s"
}

// Aliases are the other names of a command about the kind.
func (k Kind) Aliases() []string {
	return slices.DeleteFunc(append([]string{k.Plural}, k.Also...), func(name string) bool { return name == k.Word })
}

// Call is the command line of a verb about one object.
func (k Kind) Call(verb, name string) string {
	switch {
	case k.GVK == StackKind:
		return "yuba " + verb + " " + name
	case k.Source:
		return "yuba " + verb + " source " + k.Word + " " + name
	}
	return "yuba " + verb + " " + k.Word + " " + name
}
