// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	notificationv1beta3 "github.com/fluxcd/notification-controller/api/v1beta3"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// kind is a kind of objects that commands name by a word. The stack is the noun that goes without one.
type kind struct {
	gvk schema.GroupVersionKind
	// plural is how the API calls it, and "yuba get".
	plural string
	// word is how the other commands call it.
	word string
	// also are the other names that "yuba get" knows it by.
	also []string
	// source says that commands name it behind the word source.
	source bool
	// fetched says that it can be asked to look at what it is about now.
	fetched bool
	// suspends says that it can be suspended.
	suspends bool
	// reports says that its status tells how it stands.
	reports bool
	// made says that the server makes and removes its objects.
	made bool
	// clusterWide says that its objects belong to no namespace.
	clusterWide bool
}

// one is the kind with its article, for sentences.
func (k kind) one() string { return diagnostic.WithArticle(k.gvk.Kind) }

var (
	gitRepositories = kind{gvk: sourcev1.GroupVersion.WithKind("GitRepository"), plural: "gitrepositories", word: "git",
		also: []string{"gitrepository", "gitrepo", "gitrepos"}, source: true, fetched: true, suspends: true, reports: true}
	ociRepositories = kind{gvk: sourcev1.GroupVersion.WithKind("OCIRepository"), plural: "ocirepositories", word: "oci",
		also: []string{"ocirepository", "ocirepo", "ocirepos"}, source: true, fetched: true, suspends: true, reports: true}
	buckets = kind{gvk: sourcev1.GroupVersion.WithKind("Bucket"), plural: "buckets", word: "bucket",
		also: []string{"bucket"}, source: true, fetched: true, suspends: true, reports: true}
	externalArtifacts = kind{gvk: sourcev1.GroupVersion.WithKind("ExternalArtifact"), plural: "externalartifacts", word: "external",
		also: []string{"externalartifact"}, source: true, reports: true}
	kustomizations = kind{gvk: kustomizev1.GroupVersion.WithKind("Kustomization"), plural: "kustomizations", word: "kustomization",
		also: []string{"kustomization", "ks"}, fetched: true, suspends: true, reports: true}
	receivers = kind{gvk: notificationv1.GroupVersion.WithKind("Receiver"), plural: "receivers", word: "receiver",
		also: []string{"receiver"}, fetched: true, suspends: true, reports: true}
	providers = kind{gvk: notificationv1beta3.GroupVersion.WithKind("Provider"), plural: "providers", word: "alert-provider",
		also: []string{"provider", "alert-provider", "alert-providers"}, suspends: true}
	alerts = kind{gvk: notificationv1beta3.GroupVersion.WithKind("Alert"), plural: "alerts", word: "alert",
		also: []string{"alert"}, suspends: true}
	// Outages are listed and turned by commands of their own: they belong to nobody's namespace.
	circuitBreakers = kind{gvk: yubav1.GroupVersion.WithKind(yubav1.CircuitBreakerKind), plural: "circuitbreakers", word: "circuitbreaker",
		also: []string{"circuitbreaker", "cb"}, reports: true, clusterWide: true}
	tenantRegistries = kind{gvk: tenantv1.GroupVersion.WithKind(tenantv1.TenantRegistryKind), plural: "tenantregistries", word: "tenantregistry",
		also: []string{"tenantregistry", "tr"}, fetched: true, reports: true}
	tenantTemplates = kind{gvk: tenantv1.GroupVersion.WithKind(tenantv1.TenantTemplateKind), plural: "tenanttemplates", word: "tenanttemplate",
		also: []string{"tenanttemplate", "tt"}, reports: true}
	tenants = kind{gvk: tenantv1.GroupVersion.WithKind(tenantv1.TenantKind), plural: "tenants", word: "tenant",
		also: []string{"tenant"}, reports: true, made: true}
	stacks = kind{gvk: stackKind, plural: "terraforms", word: "terraform",
		also: []string{"terraform", "tf", "stacks", "stack"}, fetched: true, suspends: true, reports: true}
)

// allKinds are in the order in which one thing follows from another.
var allKinds = []kind{gitRepositories, ociRepositories, buckets, externalArtifacts, kustomizations, tenantRegistries, tenantTemplates, tenants, stacks, receivers, providers, alerts}

// kindNamed finds a kind by any of its names; commands about objects that they only read take them all.
func kindNamed(name string) (kind, bool) {
	for _, k := range allKinds {
		if name == k.gvk.Kind || name == k.plural || name == k.word || slices.Contains(k.also, name) {
			return k, true
		}
	}
	return kind{}, false
}

// kindOf finds the kind of an object, whatever the version of its API.
func kindOf(gk schema.GroupKind) (kind, bool) {
	for _, k := range allKinds {
		if k.gvk.GroupKind() == gk {
			return k, true
		}
	}
	return kind{}, false
}

// addKinds tells a mapper about all kinds; asking the API what it serves would cost more requests.
func addKinds(mapper *meta.DefaultRESTMapper) {
	for _, k := range allKinds {
		gv := k.gvk.GroupVersion()
		mapper.AddSpecific(k.gvk, gv.WithResource(k.plural), gv.WithResource(k.plural), meta.RESTScopeNamespace)
	}
	breakers := circuitBreakers.gvk.GroupVersion().WithResource(circuitBreakers.plural)
	mapper.AddSpecific(circuitBreakers.gvk, breakers, breakers, meta.RESTScopeRoot)
	core := corev1.SchemeGroupVersion
	mapper.AddSpecific(core.WithKind("Namespace"), core.WithResource("namespaces"), core.WithResource("namespaces"), meta.RESTScopeRoot)
	mapper.AddSpecific(core.WithKind("Event"), core.WithResource("events"), core.WithResource("events"), meta.RESTScopeNamespace)
}

// singular is how kubectl calls one: gitrepository.
func (k kind) singular() string { return strings.ToLower(k.gvk.Kind) }

// people is what many of them are called in a sentence.
func (k kind) people() string {
	switch {
	case k.gvk == stackKind:
		return "stacks"
	case strings.HasSuffix(k.gvk.Kind, "y"):
		return strings.TrimSuffix(k.gvk.Kind, "y") + "ies"
	}
	return k.gvk.Kind + "s"
}

// aliases are what else a command about the kind is called.
func (k kind) aliases() []string {
	return slices.DeleteFunc(append([]string{k.plural}, k.also...), func(name string) bool { return name == k.word })
}

// noun is what stands behind a verb: "source git", "kustomization".
func (k kind) noun() string {
	if k.source {
		return "source " + k.word
	}
	return k.word
}

// call is a command about one object, to be typed.
func (k kind) call(verb, name string) string {
	if k.gvk == stackKind {
		return "yuba " + verb + " " + name
	}
	return "yuba " + verb + " " + k.noun() + " " + name
}

// addKindCommands gives a verb a command for each kind that it is about, those of sources below the word source.
func addKindCommands(verb *cobra.Command, wanted func(kind) bool, command func(kind) *cobra.Command) {
	short := strings.ToUpper(verb.Name()[:1]) + verb.Name()[1:] + " a Git, OCI or bucket source"
	sources := &cobra.Command{
		Use: "source COMMAND", Aliases: []string{"sources"},
		Short: short,
		Long:  short + " of stacks and Kustomizations: a GitRepository, OCIRepository or Bucket.",
		Args:  noSuchCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, k := range allKinds {
		switch {
		case !wanted(k) || k.gvk == stackKind:
		case k.source:
			sources.AddCommand(command(k))
		default:
			verb.AddCommand(command(k))
		}
	}
	if sources.HasSubCommands() {
		sources.Example = "  " + sources.Commands()[0].Example[2:]
		verb.AddCommand(sources)
	}
}
