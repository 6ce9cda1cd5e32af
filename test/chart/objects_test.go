// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// foreign are the kinds of the chart that Kubernetes does not have.
var foreign = regexp.MustCompile(`(?m)^kind: (ServiceMonitor|HTTPRoute|APIService)$`)

// objects decodes manifests as the API server does with strict validation of fields.
func objects(t *testing.T, manifests string) (all []runtime.Object) {
	t.Helper()
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	for _, document := range strings.Split(manifests, "\n---\n") {
		if foreign.MatchString(document) || strings.TrimSpace(document) == "" {
			continue
		}
		o, _, err := decoder.Decode([]byte(document), nil, nil)
		if err != nil {
			t.Errorf("%v:\n%s", err, document)
			continue
		}
		all = append(all, o)
	}
	return all
}

// of selects the objects of a type.
func of[T runtime.Object](all []runtime.Object) (some []T) {
	for _, o := range all {
		if o, ok := o.(T); ok {
			some = append(some, o)
		}
	}
	return some
}

// pod is a Pod of the chart, or its template.
type pod struct {
	name string
	meta *metav1.ObjectMeta
	spec *corev1.PodSpec
}

func pods(all []runtime.Object) (found []pod) {
	for _, o := range of[*appsv1.Deployment](all) {
		found = append(found, pod{"Deployment " + o.Name, &o.Spec.Template.ObjectMeta, &o.Spec.Template.Spec})
	}
	for _, o := range of[*batchv1.Job](all) {
		found = append(found, pod{"Job " + o.Name, &o.Spec.Template.ObjectMeta, &o.Spec.Template.Spec})
	}
	for _, o := range of[*corev1.Pod](all) {
		found = append(found, pod{"Pod " + o.Name, &o.ObjectMeta, &o.Spec})
	}
	return found
}

func TestEveryObjectHasANamespaceAndAUniqueName(t *testing.T) {
	eachSet(t, func(t *testing.T, _ string, r rendered) {
		seen := map[string]bool{}
		for _, o := range objects(t, r.manifests) {
			meta := o.(metav1.Object)
			kind := o.GetObjectKind().GroupVersionKind().Kind
			key := kind + " " + meta.GetNamespace() + "/" + meta.GetName()
			if seen[key] {
				t.Errorf("%s is there twice", key)
			}
			seen[key] = true
			if cluster := strings.HasPrefix(kind, "Cluster") || kind == "Namespace"; cluster != (meta.GetNamespace() == "") {
				t.Errorf("%s: want a namespace unless it is cluster-scoped", key)
			}
		}
	})
}

func TestPodsAreRestricted(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	eachSet(t, func(t *testing.T, _ string, r rendered) {
		found := pods(objects(t, r.manifests))
		if len(found) < 2 {
			t.Fatalf("found the Pods %v", found)
		}
		for _, p := range found {
			result := policy.AggregateCheckResults(evaluator.EvaluatePod(api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}, p.meta, p.spec))
			if !result.Allowed {
				t.Errorf("%s: %s", p.name, result.ForbiddenDetail())
			}
			for _, c := range p.spec.Containers {
				if c.SecurityContext.ReadOnlyRootFilesystem == nil || !*c.SecurityContext.ReadOnlyRootFilesystem {
					t.Errorf("%s: container %s can write to its root", p.name, c.Name)
				}
				if c.Resources.Requests.Memory().IsZero() || c.Resources.Limits.Memory().IsZero() {
					t.Errorf("%s: container %s has no memory request or limit", p.name, c.Name)
				}
			}
		}
	})
}

// rulesOf are the rules of a role, with the role's name.
func rulesOf(all []runtime.Object) map[string][]rbacv1.PolicyRule {
	rules := map[string][]rbacv1.PolicyRule{}
	for _, o := range of[*rbacv1.ClusterRole](all) {
		rules["ClusterRole "+o.Name] = o.Rules
	}
	for _, o := range of[*rbacv1.Role](all) {
		rules["Role "+o.Namespace+"/"+o.Name] = o.Rules
	}
	return rules
}

func TestNoRoleAllowsEverything(t *testing.T) {
	eachSet(t, func(t *testing.T, _ string, r rendered) {
		for role, rules := range rulesOf(objects(t, r.manifests)) {
			for _, rule := range rules {
				// The page impersonates people with what the API server knows of them, under keys that no
				// role can list. This group has nothing else to impersonate.
				if slices.Equal(rule.Verbs, []string{"impersonate"}) && slices.Equal(rule.APIGroups, []string{"authentication.k8s.io"}) {
					continue
				}
				// Definitions declare the kinds of this group, so no role can name them.
				if slices.Equal(rule.APIGroups, []string{"apps.cozystack.io"}) && !slices.Contains(rule.Verbs, "*") {
					continue
				}
				if slices.Contains(rule.Verbs, "*") || slices.Contains(rule.Resources, "*") || slices.Contains(rule.APIGroups, "*") {
					t.Errorf("%s: %v", role, rule)
				}
				// The groups of tenants have these roles, which the chart installs, in the tenants' namespaces.
				if slices.Equal(rule.Verbs, []string{"bind"}) && len(rule.ResourceNames) > 0 && !slices.ContainsFunc(rule.ResourceNames, func(name string) bool { return !strings.HasPrefix(name, "yuba:tenant:") }) {
					continue
				}
				if slices.Contains(rule.Verbs, "escalate") || slices.Contains(rule.Verbs, "bind") {
					t.Errorf("%s may give rights that it lacks: %v", role, rule)
				}
			}
		}
	})
}

func TestRunnersHaveNoPermissionsByDefault(t *testing.T) {
	r, err := render(parse(t, "runner: {serviceAccount: {allowedNamespaces: [team-a]}}"))
	if err != nil {
		t.Fatal(err)
	}
	all := objects(t, r.manifests)
	accounts := 0
	for _, a := range of[*corev1.ServiceAccount](all) {
		if a.Name == "tf-runner" {
			accounts++
		}
	}
	if accounts != 2 {
		t.Errorf("%d service accounts of runners, want those of yuba-system and team-a", accounts)
	}
	var subjects []rbacv1.Subject
	for _, b := range of[*rbacv1.RoleBinding](all) {
		subjects = append(subjects, b.Subjects...)
	}
	for _, b := range of[*rbacv1.ClusterRoleBinding](all) {
		subjects = append(subjects, b.Subjects...)
	}
	for _, s := range subjects {
		if s.Name == "tf-runner" {
			t.Errorf("a runner is bound to a role: %v", s)
		}
	}
}

func TestSecretsOfOtherNamespacesNeedNoClusterRoleWithAList(t *testing.T) {
	r, err := render(parse(t, "watchNamespaces: [team-a, team-b]"))
	if err != nil {
		t.Fatal(err)
	}
	for role, rules := range rulesOf(objects(t, r.manifests)) {
		for _, rule := range rules {
			if strings.HasPrefix(role, "ClusterRole yuba") && !strings.HasPrefix(role, "ClusterRole yuba:") && slices.Contains(rule.Resources, "secrets") {
				t.Errorf("%s reads Secrets everywhere: %v", role, rule)
			}
		}
	}
}

func TestReleasesOfTwoNamespacesShareNoClusterScopedName(t *testing.T) {
	seen := map[string]string{}
	for _, namespace := range []string{"yuba-system", "team-a", "team-b"} {
		r, err := renderAs("yuba", namespace, parse(t, "rbac: {aggregateRoles: false}"))
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects(t, r.manifests) {
			meta, kind := o.(metav1.Object), o.GetObjectKind().GroupVersionKind().Kind
			key := kind + " " + meta.GetNamespace() + "/" + meta.GetName()
			// All releases share the namespace of the Lease.
			if other, ok := seen[key]; ok && kind != "Namespace" {
				t.Errorf("releases in %s and %s both have the %s", other, namespace, key)
			}
			seen[key] = namespace
		}
	}
}

func TestTheAggregatedRolesAreThoseOfYuba(t *testing.T) {
	got, want := read(t, chartDir+"/files/roles.yaml"), read(t, "../../internal/home/install/roles.yaml")
	if string(got) != string(want) {
		t.Error("charts/yuba/files/roles.yaml is not up to date. To write it:\n    make generate")
	}
}
