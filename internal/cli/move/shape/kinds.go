// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is a kind of objects that move.
type Kind struct {
	GK     schema.GroupKind
	Plural string
	// Active: a controller works on its objects, which are suspended and marked.
	Active bool
	// Freeze are fields of the spec with the values that they get at the source, so that neither the
	// controller nor a deletion touches anything. Hold are those at the target until everything has
	// arrived.
	Freeze, Hold map[string]any
	// Status: the status moves, too.
	Status bool
}

// String is the kind in messages and records. Application kinds may be called like others, such as Bucket.
func (k Kind) String() string {
	if k.Application() {
		return k.GK.String()
	}
	return k.GK.Kind
}

// OnlyMarked reports whether nothing but the mark stops the controller of an object.
func (k Kind) OnlyMarked() bool { return k.Active && k.Hold == nil }

// Name reports whether the kind is one of DNS names, whose controllers learned the marks of moves later than others.
func (k Kind) Name() bool { return k.GK == Pools.GK || k.GK == Claims.GK || k.GK == FailoverRecords.GK }

// Custom reports whether the kind is defined by a CustomResourceDefinition.
func (k Kind) Custom() bool { return k.GK.Group != "" && k.GK.Group != groupRBAC }

const (
	groupRBAC    = "rbac.authorization.k8s.io"
	groupSource  = "source.toolkit.fluxcd.io"
	groupNotify  = "notification.toolkit.fluxcd.io"
	groupTenants = "operator.kubernetes-tenants.org"
	groupYuba    = "yuba.dev"
)

// deletionPolicy is a field of Kustomizations.
const deletionPolicy = "deletionPolicy"

var suspended = map[string]any{"suspend": true}

// The kinds that the package treats specially.
var (
	Stacks         = Kind{GK: gk("infra.contrib.fluxcd.io", "Terraform"), Plural: "terraforms", Active: true, Status: true, Hold: suspended, Freeze: map[string]any{"suspend": true, "destroyResourcesOnDeletion": false}}
	Kustomizations = Kind{GK: gk("kustomize.toolkit.fluxcd.io", "Kustomization"), Plural: "kustomizations", Active: true, Status: true, Hold: suspended,
		Freeze: map[string]any{"suspend": true, "prune": false, deletionPolicy: "Orphan"}}
	HelmReleases      = Kind{GK: gk("helm.toolkit.fluxcd.io", "HelmRelease"), Plural: "helmreleases", Active: true, Status: true, Hold: suspended, Freeze: suspended}
	Secrets           = Kind{GK: gk("", "Secret"), Plural: "secrets"}
	ConfigMaps        = Kind{GK: gk("", "ConfigMap"), Plural: "configmaps"}
	ServiceAccounts   = Kind{GK: gk("", "ServiceAccount"), Plural: "serviceaccounts"}
	ExternalArtifacts = Kind{GK: gk(groupSource, "ExternalArtifact"), Plural: "externalartifacts"}
	TenantRegistries  = Kind{GK: gk(groupTenants, "TenantRegistry"), Plural: "tenantregistries", Active: true, Status: true}
	TenantTemplates   = Kind{GK: gk(groupTenants, "TenantTemplate"), Plural: "tenanttemplates", Active: true, Status: true}
	Tenants           = Kind{GK: gk(groupTenants, "Tenant"), Plural: "tenants", Active: true, Status: true}
	// Nothing but the mark stops its controller: spec.suspend of a platform would suspend its stacks.
	Platforms = Kind{GK: gk(groupYuba, "Platform"), Plural: "platforms", Active: true, Status: true}
	// Nothing but the mark stops the controllers of DNS names. Those that are marked leave their records as they are.
	Pools           = Kind{GK: gk(groupYuba, "SubdomainPool"), Plural: "subdomainpools", Active: true, Status: true}
	Claims          = Kind{GK: gk(groupYuba, "SubdomainClaim"), Plural: "subdomainclaims", Active: true, Status: true}
	FailoverRecords = Kind{GK: gk(groupYuba, "FailoverRecord"), Plural: "failoverrecords", Active: true, Status: true}
)

// Kinds are all kinds that move, in the order in which they are created.
var Kinds = []Kind{
	ConfigMaps, Secrets, ServiceAccounts,
	{GK: gk(groupRBAC, "Role"), Plural: "roles"},
	{GK: gk(groupRBAC, "RoleBinding"), Plural: "rolebindings"},
	{GK: gk("", "ResourceQuota"), Plural: "resourcequotas"},
	{GK: gk("", "LimitRange"), Plural: "limitranges"},
	{GK: gk(groupSource, "GitRepository"), Plural: "gitrepositories"},
	{GK: gk(groupSource, "OCIRepository"), Plural: "ocirepositories"},
	{GK: gk(groupSource, "Bucket"), Plural: "buckets"},
	ExternalArtifacts,
	{GK: gk(groupSource, "HelmRepository"), Plural: "helmrepositories"},
	{GK: gk(groupSource, "HelmChart"), Plural: "helmcharts"},
	{GK: gk(groupNotify, "Provider"), Plural: "providers"},
	{GK: gk(groupNotify, "Alert"), Plural: "alerts"},
	{GK: gk(groupNotify, "Receiver"), Plural: "receivers"},
	Kustomizations,
	HelmReleases,
	TenantRegistries,
	TenantTemplates,
	Tenants,
	Pools,
	Claims,
	FailoverRecords,
	Platforms,
	Stacks,
}

func gk(group, kind string) schema.GroupKind { return schema.GroupKind{Group: group, Kind: kind} }

// KindOf finds the kind of a name.
func KindOf(name string) Kind {
	for _, k := range Kinds {
		if k.GK.Kind == name {
			return k
		}
	}
	return Kind{}
}

// RecordName is the ConfigMap with a home's record about a namespace.
const RecordName = "yuba-move"

const (
	labelPlanName  = "infra.contrib.fluxcd.io/plan-name"
	labelManagedBy = "app.kubernetes.io/managed-by"
	// labelQuota is on the quotas that the embedded home makes for tenants.
	labelQuota = "yuba.dev/default-quota"
)

// Skip says why an object never moves; empty if it does.
func Skip(k Kind, o *unstructured.Unstructured) string {
	name, labels := o.GetName(), o.GetLabels()
	switch k.GK {
	case ConfigMaps.GK:
		switch name {
		case "kube-root-ca.crt":
			return "every home makes its own"
		case RecordName:
			return "it is the record of moves"
		}
	case Secrets.GK:
		kind, _, _ := unstructured.NestedString(o.Object, "type") //nolint:errcheck // the API makes it text
		switch {
		case kind == "kubernetes.io/service-account-token" || kind == "bootstrap.kubernetes.io/token":
			return "a token is valid only at the home that made it"
		case kind == "helm.sh/release.v1" || strings.HasPrefix(name, "sh.helm.release.v1."):
			return "a Helm release belongs to its cluster"
		case labels[labelPlanName] != "" && !strings.HasSuffix(labels[labelPlanName], ".json") && strings.HasPrefix(name, "tfplan-"):
			return "a binary plan of tofu-controller is never applied; the stack plans anew"
		}
	case ServiceAccounts.GK:
		if name == "default" {
			return "every home makes its own"
		}
	case FailoverRecords.GK:
		if _, external, _ := unstructured.NestedMap(o.Object, "spec", "publish", "dnsEndpoint"); external { //nolint:errcheck // none
			return "the external-dns of its cluster publishes it, and would go on doing so. Create it at the target, and delete it at the source"
		}
	}
	if k.GK.Group == groupRBAC || k.GK == ServiceAccounts.GK {
		if labels[labelManagedBy] == "Helm" {
			return "a Helm release belongs to its cluster"
		}
	}
	if k.GK.Kind == "ResourceQuota" && labels[labelQuota] != "" {
		return "Yuba makes its own"
	}
	return ""
}
