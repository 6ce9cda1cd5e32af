// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/inputs"
)

func TestWhichStacksAreMadeByTemplates(t *testing.T) {
	for sentence, test := range map[string]struct {
		change func(*infrav1.Terraform)
		want   bool
	}{
		"one that a Tenant owns": {ofAcme, true},
		"one in another namespace, whose Tenant a label names": {func(t *infrav1.Terraform) {
			t.Labels = map[string]string{tenantv1.LabelTenant: "acme-web", tenantv1.LabelTenantNamespace: "default"}
		}, true},
		"the uid alone does not make one": {func(t *infrav1.Terraform) { t.Labels = map[string]string{tenantv1.LabelUID: "acme"} }, false},
		"a Tenant of another group": {func(t *infrav1.Terraform) {
			t.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps.cozystack.io/v1alpha1", Kind: "Tenant", Name: "acme"}}
		}, false},
		"nobody's": {func(*infrav1.Terraform) {}, false},
	} {
		if got := madeByTemplate(stackObject(test.change)); got != test.want {
			t.Errorf("%s: %v", sentence, got)
		}
	}
}

func TestWhatATenantsStackFindsInItsEnvironment(t *testing.T) {
	secrets := secretsOf{"cloud": {"AWS_SECRET_ACCESS_KEY": "s3cr3t-key", "AWS_REGION": "eu-west-1", "PGPORT": "5432", "PGPORT__type": `"number"`,
		"size": "3", "COMPANY_NAME": "Acme"}}
	program := map[string]string{"main.tf": "variable \"size\" {\n  type = number\n}\n"}
	for sentence, test := range map[string]struct {
		change   func(*infrav1.Terraform)
		files    map[string]string
		want     []run.EnvVar
		warnings []string
	}{
		"what its program does not declare, by the names of providers": {ofAcme, program, []run.EnvVar{
			{Name: "AWS_REGION", Value: "eu-west-1", Secret: true}, {Name: "AWS_SECRET_ACCESS_KEY", Value: "s3cr3t-key", Secret: true}, {Name: "PGPORT", Value: "5432", Secret: true},
		}, []string{"COMPANY_NAME"}},
		"not what its program declares": {ofAcme, map[string]string{"main.tf": "variable \"size\" {}\nvariable \"AWS_REGION\" {}\n"}, []run.EnvVar{
			{Name: "AWS_SECRET_ACCESS_KEY", Value: "s3cr3t-key", Secret: true}, {Name: "PGPORT", Value: "5432", Secret: true},
		}, []string{"COMPANY_NAME"}},
		"what it sets itself comes first": {func(t *infrav1.Terraform) {
			ofAcme(t)
			t.Spec.Env = []corev1.EnvVar{{Name: "AWS_REGION", Value: "us-east-1"}}
		}, program, []run.EnvVar{
			{Name: "AWS_REGION", Value: "us-east-1"}, {Name: "AWS_SECRET_ACCESS_KEY", Value: "s3cr3t-key", Secret: true}, {Name: "PGPORT", Value: "5432", Secret: true},
		}, []string{"AWS_REGION", "COMPANY_NAME"}},
		"nothing, when no Tenant has the stack": {func(*infrav1.Terraform) {}, program, nil,
			[]string{"AWS_REGION", "AWS_SECRET_ACCESS_KEY", "COMPANY_NAME", "PGPORT"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			obj := stackObject(test.change)
			obj.Spec.Inline = test.files
			varsFrom("cloud")(&obj.Spec)
			c := configuredFor(t, secrets, obj)
			if diff := cmp.Diff(test.want, sortedEnv(c.env)); diff != "" {
				t.Error(diff)
			}
			var want []string
			for _, name := range test.warnings {
				want = append(want, `the module does not declare a variable "`+name+`"; its value is not used`)
			}
			if diff := cmp.Diff(want, c.Warnings); diff != "" {
				t.Error(diff)
			}
			for _, e := range test.want {
				if e.Secret && c.Origins["env "+e.Name] != "Secret team/cloud, key "+e.Name {
					t.Errorf("%s comes from %q", e.Name, c.Origins["env "+e.Name])
				}
				if _, both := c.variables[e.Name]; both {
					t.Errorf("%s is a variable, too", e.Name)
				}
			}
		})
	}
}

// tenantRules are the rules of a server with the standard settings.
var tenantRules = Rules{TenantEnvPrefixes: inputs.DefaultEnvPrefixes()}

// configuredFor is the configuration of a stack as the reconciler reads it.
func configuredFor(t *testing.T, secrets secretsOf, obj *infrav1.Terraform) *Configuration {
	t.Helper()
	sources, _, _ := newSources(t)
	prog, err := sources.Find(t.Context(), obj, false)
	if err != nil {
		t.Fatal(err)
	}
	in, err := tenantRules.Resolve(t.Context(), secrets, obj)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Configure(obj, prog, in)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Authors of programs in sources run them elsewhere, too, and declare what they need.
func TestProgramsFromSourcesAreLentNothing(t *testing.T) {
	obj := stackObject(ofAcme)
	obj.Spec.SourceRef = &infrav1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "infra"}
	varsFrom("cloud")(&obj.Spec)
	in, err := tenantRules.Resolve(t.Context(), secretsOf{"cloud": {"AWS_REGION": "eu"}}, obj)
	if err != nil {
		t.Fatal(err)
	}
	if lent := in.Lent(func(string) bool { return false }); len(lent) > 0 {
		t.Errorf("lent %v", lent)
	}
	// values.hcl counts as inline: the published guide writes it.
	obj.Spec.Values = &apiextensionsv1.JSON{Raw: []byte(`{"hcl": "locals {}"}`)}
	if in, err = tenantRules.Resolve(t.Context(), secretsOf{"cloud": {"AWS_REGION": "eu"}}, obj); err != nil {
		t.Fatal(err)
	}
	if lent := in.Lent(func(string) bool { return false }); len(lent) != 1 {
		t.Errorf("lent %v", lent)
	}
}

func TestTheDigestKnowsWhatIsLent(t *testing.T) {
	digest := func(region string) string {
		obj := stackObject(ofAcme)
		obj.Spec.Inline = map[string]string{"main.tf": "locals {}\n"}
		varsFrom("cloud")(&obj.Spec)
		return configuredFor(t, secretsOf{"cloud": {"AWS_REGION": region}}, obj).Digest
	}
	if one, again := digest("eu"), digest("eu"); one == digest("us") || one != again {
		t.Error("a lent value must count as any other")
	}
}

// labelled has Secrets that are labelled with the tenant of their own name.
type labelled struct{ secretsOf }

func (l labelled) Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	secret, err := l.secretsOf.Secret(ctx, namespace, name)
	if err == nil {
		secret.Labels = map[string]string{tenantv1.LabelUID: name}
	}
	return secret, err
}

func TestAnotherTenantsSecretsAreRefused(t *testing.T) {
	secrets := labelled{secretsOf{"acme": {"password": "own"}, "beta": {"password": "s3cr3t"}}}
	read := func(name string, obj *infrav1.Terraform) error {
		varsFrom(name)(&obj.Spec)
		_, err := Rules{}.Resolve(t.Context(), secrets, obj)
		return err
	}
	if err := read("acme", stackObject(ofAcme)); err != nil {
		t.Errorf("its own: %v", err)
	}
	if err := read("beta", stackObject()); err != nil {
		t.Errorf("a stack without a tenant: %v", err)
	}
	err := read("beta", stackObject(ofAcme))
	if err == nil || strings.Contains(err.Error(), "s3cr3t") {
		t.Fatalf("got %v", err)
	}
	var refused *inputs.Error
	if !errors.As(err, &refused) || refused.Part() != inputs.PartAccess || !strings.Contains(err.Error(), `belongs to tenant "beta"`) {
		t.Errorf("got %v", err)
	}
}
