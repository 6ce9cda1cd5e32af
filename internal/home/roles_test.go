// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package home

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// right is what the three roles may do with a resource. Each role may also do what the roles before
// it may; whatever is not named, nobody may.
type right struct{ resource, view, edit, admin string }

const (
	read  = "get list watch"
	write = "create update patch delete deletecollection"
)

// verbs are all that are asked about.
const verbs = read + " " + write + " impersonate escalate bind"

// inNamespaces is what a RoleBinding gives in its namespace, and a ClusterRoleBinding in all of
// them.
var inNamespaces = []right{
	// Stacks. Their status belongs to the server.
	{"infra.contrib.fluxcd.io/terraforms", read, write, ""},
	{"infra.contrib.fluxcd.io/terraforms/status", read, "", ""},
	{"infra.contrib.fluxcd.io/terraforms/finalizers", "", "", ""},

	// What stacks did: secrets are masked in it.
	{"content.yuba.dev/terraforms/log", "get", "", ""},
	{"content.yuba.dev/platforms/logs", "get", "", ""},
	{"content.yuba.dev/platforms/events", "get", "", ""},
	{"content.yuba.dev/deployments/logs", "get", "", ""},
	{"content.yuba.dev/deployments/events", "get", "", ""},
	{"content.yuba.dev/terraforms/plan", "get", "", ""},
	{"content.yuba.dev/terraforms/runs", "get", "", ""},
	{"content.yuba.dev/terraforms/why", "get", "", ""},
	{"content.yuba.dev/terraforms/facts", "get", "", ""},
	{"content.yuba.dev/terraforms/verdict", "get", "", ""},
	{"content.yuba.dev/policytrials", "", "create", ""},
	{"content.yuba.dev/usage", "get list", "", ""},
	{"content.yuba.dev/outdated", "get list", "", ""},
	{"content.yuba.dev/terraforms/try", "", "get create delete", ""},
	{"content.yuba.dev/terraforms/preview", "", "get create delete", ""},
	// States and archives, which hold secrets.
	{"content.yuba.dev/terraforms/state", "", "get create update", ""},
	{"content.yuba.dev/terraforms/versions", "", "get create update", ""},
	{"content.yuba.dev/terraforms/outputs", "", "get create update", ""},
	{"content.yuba.dev/terraforms/contract", "", "get create update", ""},
	{"content.yuba.dev/externalartifacts/archive", "", "get create update", ""},
	{"content.yuba.dev/gitrepositories/archive", "", "get create update", ""},
	{"content.yuba.dev/ocirepositories/archive", "", "get create update", ""},
	{"content.yuba.dev/helmrepositories/archive", "", "get create update", ""},
	{"content.yuba.dev/helmcharts/archive", "", "get create update", ""},
	{"content.yuba.dev/buckets/archive", "", "get create update", ""},
	// Work by hand. A shell is not confined.
	{"content.yuba.dev/terraforms/change", "", "create", ""},
	{"content.yuba.dev/terraforms/rollback", "", "create", ""},
	{"content.yuba.dev/refactorings", "", "get list create", ""},
	{"content.yuba.dev/refactorings/apply", "", "get list create", ""},
	{"content.yuba.dev/terraforms/unlock", "", "create", ""},
	{"content.yuba.dev/terraforms/cancel", "", "create", ""},
	{"content.yuba.dev/terraforms/approve", "", "create", ""},
	{"content.yuba.dev/terraforms/shell", "", "", "create"},
	// All that is stored of a stack, in clear text.
	{"content.yuba.dev/terraforms/export", "", "", "get"},
	{"content.yuba.dev/terraforms/import", "", "", "create"},
	{"content.yuba.dev/terraforms/signature", "", "", "get create"},

	// Sources and notifications.
	{"source.toolkit.fluxcd.io/externalartifacts", read, write, ""},
	{"source.toolkit.fluxcd.io/externalartifacts/status", read, "", ""},
	{"source.toolkit.fluxcd.io/gitrepositories", read, write, ""},
	{"source.toolkit.fluxcd.io/gitrepositories/status", read, "", ""},
	{"source.toolkit.fluxcd.io/helmrepositories", read, write, ""},
	{"source.toolkit.fluxcd.io/helmrepositories/status", read, "", ""},
	{"source.toolkit.fluxcd.io/helmcharts", read, write, ""},
	{"source.toolkit.fluxcd.io/helmcharts/status", read, "", ""},
	{"source.toolkit.fluxcd.io/ocirepositories", read, write, ""},
	{"source.toolkit.fluxcd.io/ocirepositories/status", read, "", ""},
	{"source.toolkit.fluxcd.io/buckets", read, write, ""},
	{"source.toolkit.fluxcd.io/buckets/status", read, "", ""},
	{"image.toolkit.fluxcd.io/imagerepositories", read, write, ""},
	{"image.toolkit.fluxcd.io/imagerepositories/status", read, "", ""},
	{"image.toolkit.fluxcd.io/imagepolicies", read, write, ""},
	{"image.toolkit.fluxcd.io/imagepolicies/status", read, "", ""},
	{"image.toolkit.fluxcd.io/imageupdateautomations", read, write, ""},
	{"image.toolkit.fluxcd.io/imageupdateautomations/status", read, "", ""},
	{"notification.toolkit.fluxcd.io/receivers", read, write, ""},
	{"notification.toolkit.fluxcd.io/receivers/status", read, "", ""},
	{"notification.toolkit.fluxcd.io/providers", read, write, ""},
	{"notification.toolkit.fluxcd.io/providers/status", read, "", ""},
	{"notification.toolkit.fluxcd.io/alerts", read, write, ""},
	{"notification.toolkit.fluxcd.io/alerts/status", read, "", ""},
	{"external-secrets.io/externalsecrets", read, write, ""},
	{"external-secrets.io/externalsecrets/status", read, "", ""},
	{"external-secrets.io/secretstores", read, write, ""},
	{"external-secrets.io/secretstores/status", read, "", ""},
	{"yuba.dev/contractbridges", read, write, ""},
	{"yuba.dev/contractbridges/status", read, "", ""},
	{"yuba.dev/contracts", read, write, ""},
	{"yuba.dev/contracts/status", read, "", ""},
	{"yuba.dev/failoverrecords", read, write, ""},
	{"yuba.dev/failoverrecords/status", read, "", ""},
	{"yuba.dev/platforms", read, write, ""},
	{"yuba.dev/platforms/status", read, "", ""},
	{"yuba.dev/modulesources", read, write, ""},
	{"yuba.dev/modulesources/status", read, "", ""},
	{"yuba.dev/subdomainclaims", read, write, ""},
	{"yuba.dev/subdomainclaims/status", read, "", ""},
	{"yuba.dev/subdomainpools", read, write, ""},
	{"yuba.dev/subdomainpools/status", read, "", ""},
	// What binds a stack is not for who edits it.
	{"yuba.dev/policies", read, "", write},
	{"yuba.dev/policies/status", read, "", ""},
	{"yuba.dev/pullrequestplanners", read, "", write},
	{"yuba.dev/pullrequestplanners/status", read, "", ""},

	// Kustomizations and tenants act with the rights of the server: no role may write them. Tenants
	// and templates show values.
	{"kustomize.toolkit.fluxcd.io/kustomizations", read, "", ""},
	{"kustomize.toolkit.fluxcd.io/kustomizations/status", read, "", ""},
	// HelmReleases act with the rights of any service account of the namespace, which may have more than who writes them.
	{"helm.toolkit.fluxcd.io/helmreleases", read, "", ""},
	{"helm.toolkit.fluxcd.io/helmreleases/status", read, "", ""},
	{"operator.kubernetes-tenants.org/tenantregistries", read, "", ""},
	{"operator.kubernetes-tenants.org/tenantregistries/status", read, "", ""},
	{"operator.kubernetes-tenants.org/tenanttemplates", "", read, ""},
	{"operator.kubernetes-tenants.org/tenanttemplates/status", "", read, ""},
	{"operator.kubernetes-tenants.org/tenants", "", read, ""},
	{"operator.kubernetes-tenants.org/tenants/status", "", read, ""},

	// Instances of application kinds, whichever there are, and their plans. Who may write them is in the
	// role of each kind.
	{"apps.cozystack.io/anything", read, "", ""},
	{"apps.cozystack.io/anything/status", read, "", ""},
	{"content.yuba.dev/anything/plan", "get", "", ""},
	{"content.yuba.dev/anything/why", "get", "", ""},
	{"content.yuba.dev/anything/approve", "", "", ""},

	// What Kubernetes' own roles say. Which account one may become is looked at again: see actAs.
	{"/secrets", "", read + " " + write, ""},
	{"/configmaps", read, write, ""},
	{"/serviceaccounts", read, write + " impersonate", ""},
	{"/serviceaccounts/token", "", "create", ""},
	{"coordination.k8s.io/leases", "", read + " " + write, ""},
	{"/resourcequotas", read, "", ""},
	{"/namespaces", read, "", ""},
	{"/events", read, write, ""},
	{"rbac.authorization.k8s.io/roles", "", "", read + " " + write},
	{"rbac.authorization.k8s.io/rolebindings", "", "", read + " " + write},
}

// everywhere is what belongs to no namespace: a ClusterRoleBinding gives it, and a RoleBinding does
// not.
var everywhere = []right{
	{"content.yuba.dev/server", "get list", "", ""},
	{"content.yuba.dev/queue", "get list", "", ""},
	{"content.yuba.dev/figures", "get list", "", ""},
	{"content.yuba.dev/providerstore", "get list", "", "delete deletecollection"},
	{"external-secrets.io/clustersecretstores", read, "", ""},
	{"external-secrets.io/clustersecretstores/status", read, "", ""},
	{"yuba.dev/circuitbreakers", read, "", write},
	{"yuba.dev/circuitbreakers/status", read, "", ""},
	{"cozystack.io/applicationdefinitions", read, "", ""},
	{"cozystack.io/applicationdefinitions/status", read, "", ""},
	{"yuba.dev/clusterpolicies", read, "", ""},
	{"yuba.dev/clusterpolicies/status", read, "", ""},
	// For a role of their own, and for administrators of all.
	{"content.yuba.dev/metrics", "", "", ""},
	{"content.yuba.dev/audit", "", "", ""},
	{"content.yuba.dev/backup", "", "", ""},
	{"content.yuba.dev/restore", "", "", ""},
	{"content.yuba.dev/modules", "", "", ""},
	{"content.yuba.dev/providers", "", "", ""},
	{"content.yuba.dev/signingkeys", "", "", ""},
	{"content.yuba.dev/mirror", "", "", ""},
	{"content.yuba.dev/registry", "", "", ""},
	{"/users", "", "", ""},
	{"/groups", "", "", ""},
	{"rbac.authorization.k8s.io/clusterroles", "", "", ""},
	{"rbac.authorization.k8s.io/clusterrolebindings", "", "", ""},
	{"apiextensions.k8s.io/customresourcedefinitions", "", "", ""},
}

// of are the verbs that each of the roles has, in the order of verbs.
func (r right) of() map[string][]string {
	has := map[string][]string{}
	for role, more := range map[string]string{"view": r.view, "edit": r.view + " " + r.edit, "admin": r.view + " " + r.edit + " " + r.admin} {
		all := " " + more + " "
		for verb := range strings.FieldsSeq(verbs) {
			if strings.Contains(all, " "+verb+" ") {
				has[role] = append(has[role], verb)
			}
		}
	}
	return has
}

// everybodys is what the group of all authenticated users may do: open the page as themselves.
const everybodys = "content.yuba.dev/weblinks"

func TestWhatAUserWithoutARoleMayDo(t *testing.T) {
	client := clientOf(t, shared)
	group, resource, _ := strings.Cut(everybodys, "/")
	for verb := range strings.FieldsSeq(verbs) {
		request := reviewOf("without-a-role", "", verb, resource)
		request.Spec.ResourceAttributes.Group, request.Spec.Groups = group, []string{"system:authenticated"}
		review, err := client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), request, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if want := verb == "create"; review.Status.Allowed != want {
			t.Errorf("may %s %s: %v, want %v", verb, resource, review.Status.Allowed, want)
		}
	}
}

// The whole table: what whoever has a role may do, and nothing beside it.
func TestWhatTheRolesMayDo(t *testing.T) {
	namespace := newNamespace(t, shared)
	for _, role := range []string{"view", "edit", "admin"} {
		bind(t, namespace, role, userNamed(role))
		bind(t, "", role, userNamed(role+"-everywhere"))
	}
	check := func(r right, suffix, namespace string, want map[string][]string) {
		t.Helper()
		client := clientOf(t, shared)
		group, resource, _ := strings.Cut(r.resource, "/")
		for _, role := range []string{"view", "edit", "admin"} {
			t.Run(strings.TrimPrefix(r.resource, "/")+" "+role+suffix, func(t *testing.T) {
				eventually(t, "the roles are aggregated", func() error {
					var may []string
					for verb := range strings.FieldsSeq(verbs) {
						if allowed(t, client, role+suffix, namespace, verb, group, resource) {
							may = append(may, verb)
						}
					}
					if !slices.Equal(may, want[role]) {
						return fmt.Errorf("may %v, want %v", may, want[role])
					}
					return nil
				})
			})
		}
	}
	for _, r := range inNamespaces {
		check(r, "", namespace, r.of())
		check(r, "-everywhere", namespace, r.of())
		check(r, "", "default", nil)
	}
	for _, r := range everywhere {
		check(r, "", "", nil)
		check(r, "-everywhere", "", r.of())
	}
}

// Every resource that a role of Yuba's names has a row above.
func TestTheTableOfRightsIsComplete(t *testing.T) {
	known := map[string]bool{everybodys: true}
	for _, r := range slices.Concat(inNamespaces, everywhere) {
		known[r.resource] = true
	}
	roles, err := clientOf(t, shared).RbacV1().ClusterRoles().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, role := range roles.Items {
		if !strings.HasPrefix(role.Name, "yuba:") {
			continue
		}
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				found++
				// The rows of "anything" stand for what "*" gives.
				if name := rule.APIGroups[0] + "/" + strings.Replace(resource, "*", "anything", 1); len(rule.APIGroups) != 1 || !known[name] {
					t.Errorf("%s names %v %s, which has no row", role.Name, rule.APIGroups, resource)
				}
			}
		}
	}
	if found == 0 {
		t.Error("there are no roles of Yuba's")
	}
}

// The registry's roles. Publishing does not include changing the trusted keys, and an account without
// the right to read modules still gets public providers from the mirror.
func TestWhatTheRolesOfTheRegistryMayDo(t *testing.T) {
	const reads, changes = "get list", "get list create update patch delete"
	client := clientOf(t, shared)
	for role, want := range map[string]map[string]string{
		"registry-reader":        {"modules": reads, "providers": reads, "signingkeys": reads, "mirror": "", "registry": reads},
		"registry-mirror-reader": {"modules": "", "providers": "", "signingkeys": "", "mirror": reads, "registry": reads},
		"registry-publisher":     {"modules": changes, "providers": changes, "signingkeys": reads, "mirror": reads, "registry": reads},
		"registry-admin":         {"modules": changes, "providers": changes, "signingkeys": changes, "mirror": changes, "registry": reads},
	} {
		bind(t, "", "yuba:"+role, userNamed(role))
		for resource, verbsOfRole := range want {
			eventually(t, role+" is bound", func() error {
				var may []string
				for verb := range strings.FieldsSeq(verbs) {
					if verb != "watch" && allowed(t, client, role, "", verb, "content.yuba.dev", resource) {
						may = append(may, verb)
					}
				}
				if got := strings.Join(may, " "); got != verbsOfRole {
					return fmt.Errorf("%s may %q %s, want %q", role, got, resource, verbsOfRole)
				}
				return nil
			})
		}
	}
}
