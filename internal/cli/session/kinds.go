// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"slices"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	notificationv1beta3 "github.com/fluxcd/notification-controller/api/v1beta3"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// Kind is a kind of objects that commands name by a word. The stack is the noun that goes without one.
type Kind struct {
	GVK schema.GroupVersionKind
	// Plural is how the API calls it, and "yuba get".
	Plural string
	// Word is how the other commands call it.
	Word string
	// Also are the other names that "yuba get" knows it by.
	Also []string
	// Source says that commands name it behind the word source.
	Source bool
	// Fetched says that it can be asked to look at what it is about now.
	Fetched bool
	// Suspends says that it can be suspended.
	Suspends bool
	// Reports says that its status tells how it stands.
	Reports bool
	// Made says that the server makes and removes its objects.
	Made bool
	// ClusterWide says that its objects belong to no namespace.
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
	Kustomizations = Kind{GVK: kustomizev1.GroupVersion.WithKind("Kustomization"), Plural: "kustomizations", Word: "kustomization",
		Also: []string{"kustomization", "ks"}, Fetched: true, Suspends: true, Reports: true}
	Receivers = Kind{GVK: notificationv1.GroupVersion.WithKind("Receiver"), Plural: "receivers", Word: "receiver",
		Also: []string{"receiver"}, Fetched: true, Suspends: true, Reports: true}
	Providers = Kind{GVK: notificationv1beta3.GroupVersion.WithKind("Provider"), Plural: "providers", Word: "alert-provider",
		Also: []string{"provider", "alert-provider", "alert-providers"}, Suspends: true}
	Alerts = Kind{GVK: notificationv1beta3.GroupVersion.WithKind("Alert"), Plural: "alerts", Word: "alert",
		Also: []string{"alert"}, Suspends: true}
	// CircuitBreakers have commands of their own: they belong to no namespace.
	CircuitBreakers = Kind{GVK: yubav1.GroupVersion.WithKind(yubav1.CircuitBreakerKind), Plural: "circuitbreakers", Word: "circuitbreaker",
		Also: []string{"circuitbreaker", "cb"}, Reports: true, ClusterWide: true}
	TenantRegistries = Kind{GVK: tenantv1.GroupVersion.WithKind(tenantv1.TenantRegistryKind), Plural: "tenantregistries", Word: "tenantregistry",
		Also: []string{"tenantregistry", "tr"}, Fetched: true, Reports: true}
	TenantTemplates = Kind{GVK: tenantv1.GroupVersion.WithKind(tenantv1.TenantTemplateKind), Plural: "tenanttemplates", Word: "tenanttemplate",
		Also: []string{"tenanttemplate", "tt"}, Reports: true}
	Tenants = Kind{GVK: tenantv1.GroupVersion.WithKind(tenantv1.TenantKind), Plural: "tenants", Word: "tenant",
		Also: []string{"tenant"}, Reports: true, Made: true}
	Stacks = Kind{GVK: StackKind, Plural: "terraforms", Word: "terraform",
		Also: []string{"terraform", "tf", "stacks", "stack"}, Fetched: true, Suspends: true, Reports: true}
)

// AllKinds are in the order in which one thing follows from another.
var AllKinds = []Kind{GitRepositories, OCIRepositories, Buckets, externalArtifacts, Kustomizations, TenantRegistries, TenantTemplates, Tenants, Stacks, Receivers, Providers, Alerts}

// SourceKinds are the kinds that --source may name.
var SourceKinds = []string{infrav1.SourceKindGitRepository, infrav1.SourceKindOCIRepository, infrav1.SourceKindBucket, infrav1.SourceKindExternalArtifact}

// KindNamed finds a kind by any of its names; commands about objects that they only read take them all.
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

// addKinds tells a mapper about all kinds; asking the API what it serves would cost more requests.
func addKinds(mapper *meta.DefaultRESTMapper) {
	for _, k := range AllKinds {
		gv := k.GVK.GroupVersion()
		mapper.AddSpecific(k.GVK, gv.WithResource(k.Plural), gv.WithResource(k.Plural), meta.RESTScopeNamespace)
	}
	breakers := CircuitBreakers.GVK.GroupVersion().WithResource(CircuitBreakers.Plural)
	mapper.AddSpecific(CircuitBreakers.GVK, breakers, breakers, meta.RESTScopeRoot)
	core := corev1.SchemeGroupVersion
	mapper.AddSpecific(core.WithKind("Namespace"), core.WithResource("namespaces"), core.WithResource("namespaces"), meta.RESTScopeRoot)
	mapper.AddSpecific(core.WithKind("Event"), core.WithResource("events"), core.WithResource("events"), meta.RESTScopeNamespace)
}

// Singular is how kubectl calls one: gitrepository.
func (k Kind) Singular() string { return strings.ToLower(k.GVK.Kind) }

// People is what many of them are called in a sentence.
func (k Kind) People() string {
	switch {
	case k.GVK == StackKind:
		return "stacks"
	case strings.HasSuffix(k.GVK.Kind, "y"):
		return strings.TrimSuffix(k.GVK.Kind, "y") + "ies"
	}
	return k.GVK.Kind + "s"
}

// Aliases are what else a command about the kind is called.
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
