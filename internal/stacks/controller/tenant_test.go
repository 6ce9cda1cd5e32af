// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/kit/scope"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
	"github.com/yuba-dev/yuba/internal/tofu/inputs"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// ofAcme makes a stack one that the Tenant acme-web has.
func ofAcme(t *infrav1.Terraform) {
	t.Labels = map[string]string{tenantv1.LabelUID: "acme"}
	t.OwnerReferences = []metav1.OwnerReference{{APIVersion: tenantv1.GroupVersion.String(), Kind: tenantv1.TenantKind, Name: "acme-web", UID: "tenant-1"}}
}

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
			if diff := cmp.Diff(want, c.warnings); diff != "" {
				t.Error(diff)
			}
			for _, e := range test.want {
				if e.Secret && c.origins["env "+e.Name] != "Secret team/cloud, key "+e.Name {
					t.Errorf("%s comes from %q", e.Name, c.origins["env "+e.Name])
				}
				if _, both := c.variables[e.Name]; both {
					t.Errorf("%s is a variable, too", e.Name)
				}
			}
		})
	}
}

// configuredFor is the configuration of a stack as the reconciler reads it.
func configuredFor(t *testing.T, secrets secretsOf, obj *infrav1.Terraform) *configuration {
	t.Helper()
	r := &Reconciler{TenantEnvPrefixes: inputs.DefaultEnvPrefixes()}
	sources, _, _ := newSources(t)
	prog, err := sources.Find(t.Context(), obj, false)
	if err != nil {
		t.Fatal(err)
	}
	in, err := inputs.Resolve(t.Context(), secrets, obj.Namespace, &obj.Spec, r.inputOptions(obj)...)
	if err != nil {
		t.Fatal(err)
	}
	c, err := configure(obj, prog, in)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A program from a source is its author's, who may run it elsewhere, too: it declares what it wants.
func TestProgramsFromSourcesAreLentNothing(t *testing.T) {
	obj := stackObject(ofAcme)
	obj.Spec.SourceRef = &infrav1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "infra"}
	varsFrom("cloud")(&obj.Spec)
	r := &Reconciler{TenantEnvPrefixes: inputs.DefaultEnvPrefixes()}
	in, err := inputs.Resolve(t.Context(), secretsOf{"cloud": {"AWS_REGION": "eu"}}, "team", &obj.Spec, r.inputOptions(obj)...)
	if err != nil {
		t.Fatal(err)
	}
	if lent := in.Lent(func(string) bool { return false }); len(lent) > 0 {
		t.Errorf("lent %v", lent)
	}
	// values.hcl is as good as inline: the published guide writes it.
	obj.Spec.Values = &apiextensionsv1.JSON{Raw: []byte(`{"hcl": "locals {}"}`)}
	if in, err = inputs.Resolve(t.Context(), secretsOf{"cloud": {"AWS_REGION": "eu"}}, "team", &obj.Spec, r.inputOptions(obj)...); err != nil {
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
		return configuredFor(t, secretsOf{"cloud": {"AWS_REGION": region}}, obj).digest
	}
	if one, again := digest("eu"), digest("eu"); one == digest("us") || one != again {
		t.Error("a lent value must count as any other")
	}
}

func TestWhatATenantsStackWritesHasItsLabel(t *testing.T) {
	want := &infrav1.WriteOutputsToSecretSpec{Name: "outputs", Labels: map[string]string{"team": "a", tenantv1.LabelUID: "beta"}}
	if diff := cmp.Diff(map[string]string{"team": "a", tenantv1.LabelUID: "acme"}, merged(want.Labels, scope.Of(stackObject(ofAcme).Labels).Labels())); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want.Labels, merged(want.Labels, scope.Of(stackObject().Labels).Labels())); diff != "" {
		t.Errorf("a stack that is nobody's asks for labels as it likes: %s", diff)
	}
	for _, form := range []string{readableHuman, readableJSON} {
		for _, o := range readableObjects(stackObject(ofAcme), form, planID, []byte("{}")) {
			if o.GetLabels()[tenantv1.LabelUID] != "acme" {
				t.Errorf("%T %s has the labels %v", o, o.GetName(), o.GetLabels())
			}
		}
	}
	if key := stateKeyOf(stackObject(ofAcme)); key.Scope != "acme" {
		t.Errorf("the state's key is %+v", key)
	}
}

// worldOfStates has the states of two tenants and of nobody.
func worldOfStates(t *testing.T) client.Reader {
	t.Helper()
	secretOf := func(name, tenant string) client.Object {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "tfstate-default-" + name}}
		if tenant != "" {
			s.Labels = map[string]string{tenantv1.LabelUID: tenant}
		}
		return s
	}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).
		WithObjects(secretOf("beta-db", "beta"), secretOf("acme-db", "acme"), secretOf("old-db", "")).Build()
}

func TestAnotherTenantsStateIsRefused(t *testing.T) {
	r := &Reconciler{Reader: worldOfStates(t)}
	for sentence, test := range map[string]struct {
		change                  func(*infrav1.Terraform)
		name, suffix, workspace string
		denied                  bool
	}{
		"another tenant's, by the suffix":             {ofAcme, "web", "beta-db", "", true},
		"another tenant's, by the workspace":          {ofAcme, "db", "", "default-beta", true},
		"another tenant's, whose stack had this name": {ofAcme, "beta-db", "", "", true},
		"its own":                        {ofAcme, "web", "acme-db", "", false},
		"one that was there before":      {ofAcme, "web", "old-db", "", false},
		"one that is not there yet":      {ofAcme, "web", "", "", false},
		"a stack that is nobody's may":   {func(*infrav1.Terraform) {}, "web", "beta-db", "", false},
		"a backend of its own is no one": {func(t *infrav1.Terraform) { ofAcme(t); t.Spec.Cloud = &infrav1.CloudSpec{} }, "beta-db", "", "", false},
	} {
		obj := stackObject(test.change)
		obj.Name, obj.Spec.Workspace = test.name, test.workspace
		obj.Spec.BackendConfig = &infrav1.BackendConfigSpec{SecretSuffix: test.suffix}
		problem, err := r.refusedState(t.Context(), obj)
		if err != nil {
			t.Fatal(err)
		}
		if !test.denied {
			if problem != nil {
				t.Errorf("%s: %v", sentence, problem)
			}
			continue
		}
		if problem == nil {
			t.Errorf("%s: it is not refused", sentence)
			continue
		}
		expectProblem(t, problem, "AccessDenied use the state of team/"+test.name+": Secret team/tfstate-default-beta-db belongs to tenant \"beta\", but the stack belongs to tenant \"acme\"")
	}
}

// A stack that was applied and then names another tenant's state must not put that one's outputs into its own Secret, and
// one that never had a state of its own can go.
func TestNothingIsTakenFromAnotherTenantsState(t *testing.T) {
	obj := stackObject(ofAcme)
	obj.Spec.Inline = map[string]string{"main.tf": "locals {}\n"}
	obj.Spec.BackendConfig = &infrav1.BackendConfigSpec{SecretSuffix: "beta-db"}
	obj.Spec.WriteOutputsToSecret = &infrav1.WriteOutputsToSecretSpec{Name: "acme-outputs"}
	obj.Status.LastAppliedRevision = "main@sha1:1"
	sources, _, _ := newSources(t)
	r := &Reconciler{Reader: worldOfStates(t), Source: sources}
	p := passOver(obj)
	p.now = time.Now()
	p.facts = decide.Facts{Now: p.now, Stack: stackFacts(obj)}
	if err := r.gatherConfiguration(t.Context(), &p.gathered); err != nil {
		t.Fatal(err)
	}
	d := decide.Decide(p.facts)
	p.decision = d
	if d.Verb != decide.VerbFail || d.Reason != infrav1.ReasonAccessDenied {
		t.Errorf("decided %v", d)
	}
	if outputsMatter(&p.decided) {
		t.Error("outputs are read from the state")
	}
	obj.Status.LastAppliedRevision = ""
	obj.Spec.DestroyResourcesOnDeletion = true
	p.facts.Stack = stackFacts(obj)
	p.facts.Stack.Deleting = true
	if d := decide.Decide(p.facts); d.Verb != decide.VerbRelease {
		t.Errorf("a stack that never had a state cannot go: %v", d)
	}
}

// labelled has Secrets that are each labelled with the tenant of their own name.
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
		_, err := inputs.Resolve(t.Context(), secrets, "team", &obj.Spec, (&Reconciler{}).inputOptions(obj)...)
		return err
	}
	if err := read("acme", stackObject(ofAcme)); err != nil {
		t.Errorf("its own: %v", err)
	}
	if err := read("beta", stackObject()); err != nil {
		t.Errorf("a stack that is nobody's: %v", err)
	}
	err := read("beta", stackObject(ofAcme))
	if err == nil || strings.Contains(err.Error(), "s3cr3t") {
		t.Fatalf("got %v", err)
	}
	p := passOver(stackObject(ofAcme))
	if err := p.conclude(nil, nil, err); err != nil {
		t.Fatal(err)
	}
	if in := p.facts.Inputs; in.Ready || in.Reason != infrav1.ReasonAccessDenied || !strings.Contains(in.Problem, `belongs to tenant "beta"`) {
		t.Errorf("the facts are %+v", in)
	}
}

func TestWhoseItIsIsAReasonToLook(t *testing.T) {
	for sentence, test := range map[string]struct {
		before, after func(*infrav1.Terraform)
		want          bool
	}{
		"it has become a tenant's": {func(*infrav1.Terraform) {}, ofAcme, true},
		"it is nobody's any more":  {ofAcme, func(*infrav1.Terraform) {}, true},
		"another label":            {ofAcme, func(t *infrav1.Terraform) { ofAcme(t); t.Labels["team"] = "a" }, false},
	} {
		if got := reconciling.Triggers(otherScope).Update(event.UpdateEvent{ObjectOld: stackObject(test.before), ObjectNew: stackObject(test.after)}); got != test.want {
			t.Errorf("%s: %v", sentence, got)
		}
	}
}

// A template may make a thousand stacks that are suspended; whoever is looked at later is looked at in full.
func TestWhichStacksNeedNoLook(t *testing.T) {
	suspended := func(t *infrav1.Terraform) { t.Spec.Suspend = true }
	for sentence, test := range map[string]struct {
		change []func(*infrav1.Terraform)
		run    *run.Record
		want   bool
	}{
		"one that is new and suspended": {[]func(*infrav1.Terraform){suspended}, nil, true},
		"not one that may go on":        {nil, nil, false},
		"not one with a pending plan":   {[]func(*infrav1.Terraform){suspended, planPending}, nil, false},
		"not one of which Ready tells":  {[]func(*infrav1.Terraform){suspended, applying}, nil, false},
		"not one that was applied":      {[]func(*infrav1.Terraform){suspended, func(t *infrav1.Terraform) { t.Status.LastAppliedRevision = "r" }}, nil, false},
		"not one with a run in hand":    {[]func(*infrav1.Terraform){suspended}, &run.Record{}, false},
		"not one that is to be let go":  {[]func(*infrav1.Terraform){suspended, func(t *infrav1.Terraform) { t.DeletionTimestamp = &metav1.Time{Time: finished} }}, nil, false},
	} {
		p := passOver(stackObject(test.change...))
		p.inHand = test.run
		if got := p.untouched(); got != test.want {
			t.Errorf("%s: %v", sentence, got)
		}
	}
	// Nothing of what is not known then is asked for by the decision.
	p := passOver(stackObject(suspended))
	p.facts = decide.Facts{Now: p.now, Stack: stackFacts(p.obj)}
	p.decision = decide.Decide(p.facts)
	if d := p.decision; d.Verb != decide.VerbRest || d.Reason != decide.ReasonSuspended || outputsMatter(&p.decided) {
		t.Errorf("decided %v", d)
	}
}

// discarded notes which states were.
type discarded struct {
	States
	keys []state.Key
}

func (d *discarded) Discard(_ context.Context, key state.Key) error {
	d.keys = append(d.keys, key)
	return apierrors.NewForbidden(corev1.Resource("secrets"), key.SecretName(), nil)
}

// A stack of nobody keeps its state for whoever makes one of its name again; so does one whose resources stay.
func TestWhoseStatesAreDiscarded(t *testing.T) {
	destroyed := func(t *infrav1.Terraform) { t.Spec.DestroyResourcesOnDeletion = true }
	for sentence, test := range map[string]struct {
		change  []func(*infrav1.Terraform)
		foreign *configProblem
		want    int
	}{
		"a tenant's that was destroyed": {[]func(*infrav1.Terraform){ofAcme, destroyed}, nil, 1},
		"nobody's":                      {[]func(*infrav1.Terraform){destroyed}, nil, 0},
		"one whose resources are kept":  {[]func(*infrav1.Terraform){ofAcme}, nil, 0},
		"one that is another tenant's":  {[]func(*infrav1.Terraform){ofAcme, destroyed}, &configProblem{}, 0},
		"one that is not kept by Yuba":  {[]func(*infrav1.Terraform){ofAcme, destroyed, func(t *infrav1.Terraform) { t.Spec.Cloud = &infrav1.CloudSpec{} }}, nil, 0},
	} {
		states := &discarded{}
		r := &Reconciler{States: states, Log: slog.New(slog.DiscardHandler)}
		// A stack is deleted even when Yuba may not delete its Secrets.
		p := passOver(stackObject(test.change...))
		p.noState = test.foreign
		if err := r.discardState(t.Context(), &p.gathered); err != nil || len(states.keys) != test.want {
			t.Errorf("%s: discarded %v, %v", sentence, states.keys, err)
		}
	}
}

// A state may have been there before the stack: its outputs are written although there was nothing to apply.
func TestWhenThereAreOutputs(t *testing.T) {
	for sentence, test := range map[string]struct {
		change func(*infrav1.Terraform)
		want   bool
	}{
		"something was applied": {func(t *infrav1.Terraform) { t.Status.LastAppliedRevision = revision }, true},
		"nothing was to be applied": {func(t *infrav1.Terraform) {
			setCondition(t, infrav1.ConditionPlan, metav1.ConditionFalse, infrav1.ReasonPlannedNoChanges, "nothing")
		}, true},
		"a plan waits": {func(t *infrav1.Terraform) {
			setCondition(t, infrav1.ConditionPlan, metav1.ConditionTrue, infrav1.ReasonPlannedWithChanges, "something")
		}, false},
		"nothing is known": {func(*infrav1.Terraform) {}, false},
	} {
		p := passOver(stackObject(outputsIn("out"), test.change))
		if got := outputsMatter(&p.decided); got != test.want {
			t.Errorf("%s: %v", sentence, got)
		}
	}
}

func outputsIn(name string) func(*infrav1.Terraform) {
	return func(t *infrav1.Terraform) {
		t.Spec.WriteOutputsToSecret = &infrav1.WriteOutputsToSecretSpec{Name: name}
	}
}
