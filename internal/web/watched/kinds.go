// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package watched

import (
	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	automationv1 "github.com/fluxcd/image-automation-controller/api/v1"
	imagev1 "github.com/fluxcd/image-reflector-controller/api/v1"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/web/live"
)

// Kind is a kind whose objects are T.
type Kind[T any] struct {
	// Name is the kind's name, Resource what it is called in rights and commands.
	Name, Resource string
	gvk            schema.GroupVersionKind
	empty          client.Object
	list           func() client.ObjectList
	items          func(client.ObjectList) []T
	cluster        bool
}

// Group is the API group of the kind.
func (k Kind[T]) Group() string { return k.gvk.Group }

// Topic is the topic of all changes of the kind.
func (k Kind[T]) Topic() live.Topic { return live.Topic{Kind: k.empty} }

// Any is a kind, whatever its type in Go.
type Any interface {
	id() schema.GroupVersionKind
	resource() string
	Topic() live.Topic
}

func (k Kind[T]) id() schema.GroupVersionKind { return k.gvk }
func (k Kind[T]) resource() string            { return k.Resource }

// kind describes a kind by its type in Go, the type of its lists and their items.
func kind[T any, L any, PL interface {
	*L
	client.ObjectList
}](version schema.GroupVersion, name, resource string, empty client.Object, items func(*L) []T) Kind[T] {
	return Kind[T]{
		Name: name, Resource: resource, gvk: version.WithKind(name), empty: empty,
		list:  func() client.ObjectList { return PL(new(L)) },
		items: func(l client.ObjectList) []T { return items((*L)(l.(PL))) },
	}
}

// ofCluster is a kind without namespaces.
func ofCluster[T any](k Kind[T]) Kind[T] {
	k.cluster = true
	return k
}

// The kinds that pages show.
var (
	Stacks = kind(infrav1.GroupVersion, "Terraform", "terraforms", &infrav1.Terraform{}, func(l *infrav1.TerraformList) []infrav1.Terraform { return l.Items })

	Kustomizations = kind(kustomizev1.GroupVersion, "Kustomization", "kustomizations", &kustomizev1.Kustomization{},
		func(l *kustomizev1.KustomizationList) []kustomizev1.Kustomization { return l.Items })
	GitRepositories = kind(sourcev1.GroupVersion, "GitRepository", "gitrepositories", &sourcev1.GitRepository{},
		func(l *sourcev1.GitRepositoryList) []sourcev1.GitRepository { return l.Items })
	OCIRepositories = kind(sourcev1.GroupVersion, "OCIRepository", "ocirepositories", &sourcev1.OCIRepository{},
		func(l *sourcev1.OCIRepositoryList) []sourcev1.OCIRepository { return l.Items })
	Buckets           = kind(sourcev1.GroupVersion, "Bucket", "buckets", &sourcev1.Bucket{}, func(l *sourcev1.BucketList) []sourcev1.Bucket { return l.Items })
	ExternalArtifacts = kind(sourcev1.GroupVersion, "ExternalArtifact", "externalartifacts", &sourcev1.ExternalArtifact{},
		func(l *sourcev1.ExternalArtifactList) []sourcev1.ExternalArtifact { return l.Items })

	HelmRepositories  = kind(sourcev1.GroupVersion, sourcev1.HelmRepositoryKind, "helmrepositories", &sourcev1.HelmRepository{}, func(l *sourcev1.HelmRepositoryList) []sourcev1.HelmRepository { return l.Items })
	HelmCharts        = kind(sourcev1.GroupVersion, sourcev1.HelmChartKind, "helmcharts", &sourcev1.HelmChart{}, func(l *sourcev1.HelmChartList) []sourcev1.HelmChart { return l.Items })
	Releases          = kind(helmv2.GroupVersion, helmv2.HelmReleaseKind, "helmreleases", &helmv2.HelmRelease{}, func(l *helmv2.HelmReleaseList) []helmv2.HelmRelease { return l.Items })
	ImageRepositories = kind(imagev1.GroupVersion, imagev1.ImageRepositoryKind, "imagerepositories", &imagev1.ImageRepository{},
		func(l *imagev1.ImageRepositoryList) []imagev1.ImageRepository { return l.Items })
	ImagePolicies = kind(imagev1.GroupVersion, imagev1.ImagePolicyKind, "imagepolicies", &imagev1.ImagePolicy{},
		func(l *imagev1.ImagePolicyList) []imagev1.ImagePolicy { return l.Items })
	ImageUpdates = kind(automationv1.GroupVersion, automationv1.ImageUpdateAutomationKind, "imageupdateautomations", &automationv1.ImageUpdateAutomation{},
		func(l *automationv1.ImageUpdateAutomationList) []automationv1.ImageUpdateAutomation { return l.Items })

	Registries = kind(tenantv1.GroupVersion, tenantv1.TenantRegistryKind, "tenantregistries", &tenantv1.TenantRegistry{},
		func(l *tenantv1.TenantRegistryList) []tenantv1.TenantRegistry { return l.Items })
	Templates = kind(tenantv1.GroupVersion, tenantv1.TenantTemplateKind, "tenanttemplates", &tenantv1.TenantTemplate{},
		func(l *tenantv1.TenantTemplateList) []tenantv1.TenantTemplate { return l.Items })
	Tenants = kind(tenantv1.GroupVersion, tenantv1.TenantKind, "tenants", &tenantv1.Tenant{}, func(l *tenantv1.TenantList) []tenantv1.Tenant { return l.Items })

	Policies        = kind(yubav1.GroupVersion, "Policy", "policies", &yubav1.Policy{}, func(l *yubav1.PolicyList) []yubav1.Policy { return l.Items })
	ClusterPolicies = ofCluster(kind(yubav1.GroupVersion, "ClusterPolicy", "clusterpolicies", &yubav1.ClusterPolicy{},
		func(l *yubav1.ClusterPolicyList) []yubav1.ClusterPolicy { return l.Items }))
	Contracts = kind(yubav1.GroupVersion, "Contract", "contracts", &yubav1.Contract{}, func(l *yubav1.ContractList) []yubav1.Contract { return l.Items })
	Platforms = kind(yubav1.GroupVersion, yubav1.PlatformKind, "platforms", &yubav1.Platform{}, func(l *yubav1.PlatformList) []yubav1.Platform { return l.Items })
	Circuits  = ofCluster(kind(yubav1.GroupVersion, "CircuitBreaker", "circuitbreakers", &yubav1.CircuitBreaker{},
		func(l *yubav1.CircuitBreakerList) []yubav1.CircuitBreaker { return l.Items }))
	ApplicationDefinitions = ofCluster(kind(appv1.GroupVersion, appv1.ApplicationDefinitionKind, "applicationdefinitions", &appv1.ApplicationDefinition{},
		func(l *appv1.ApplicationDefinitionList) []appv1.ApplicationDefinition { return l.Items }))
	ModuleSources = kind(yubav1.GroupVersion, "ModuleSource", "modulesources", &yubav1.ModuleSource{},
		func(l *yubav1.ModuleSourceList) []yubav1.ModuleSource { return l.Items })
)
