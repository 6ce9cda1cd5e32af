// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"bytes"
	"compress/gzip"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

func packed(t *testing.T, data string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(data)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const oneResource = `{"version":4,"terraform_version":"1.12.0","serial":3,"lineage":"l","outputs":{},"resources":[` +
	`{"mode":"managed","type":"terraform_data","name":"a","provider":"provider[\"terraform.io/builtin/terraform\"]","instances":[{"schema_version":0,"attributes":{"id":"s3cret"}}]}]}`

func create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		if err := apitest.Client(t).Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

func makeStack(t *testing.T, ns, name, source string, change func(*infrav1.Terraform)) *infrav1.Terraform {
	t.Helper()
	obj := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
	obj.Spec.Interval = metav1.Duration{Duration: time.Hour}
	obj.Spec.SourceRef = &infrav1.CrossNamespaceSourceReference{Kind: "ExternalArtifact", Name: source}
	if change != nil {
		change(obj)
	}
	status := obj.Status.DeepCopy()
	create(t, obj)
	status.DeepCopyInto(&obj.Status)
	if err := apitest.Client(t).Status().Update(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

func adoptClient(t *testing.T, change func(*rest.Config)) client.Client {
	t.Helper()
	config := rest.CopyConfig(apitest.API(t).RESTConfig())
	if change != nil {
		change(config)
	}
	c, err := client.New(config, client.Options{Scheme: Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func findings(t *testing.T, r Report) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for _, s := range r.Stacks {
		found[s.Name] = lines(s.Findings)
	}
	return found
}

// Objects, states, locks and plans by tofu-controller's conventions are found.
func TestAnAPIOfTofuControllerIsRead(t *testing.T) {
	ns := apitest.Namespace(t)
	source := &sourcev1.ExternalArtifact{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "live"}}
	create(t, source)
	source.Status.Artifact = &meta.Artifact{Path: "p", URL: "http://source-controller.flux-system.svc.cluster.local./a.tar.gz",
		Revision: "main@sha1:abc", Digest: "sha256:" + strings.Repeat("0", 64), LastUpdateTime: metav1.Now()}
	if err := apitest.Client(t).Status().Update(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	vpc := makeStack(t, ns, "vpc", "live", func(o *infrav1.Terraform) {
		o.Spec.Workspace = "prod"
		o.Spec.BackendConfig = &infrav1.BackendConfigSpec{SecretSuffix: "net"}
		o.Status.LastAppliedRevision = "main@sha1:abc"
		o.Status.Plan.Pending = "plan-main-1"
	})
	makeStack(t, ns, "damaged", "missing", nil)
	fresh := makeStack(t, ns, "fresh", "live", func(o *infrav1.Terraform) {
		o.Spec.WriteOutputsToSecret = &infrav1.WriteOutputsToSecretSpec{Name: "fresh-outputs"}
	})
	makeStack(t, ns, "other", "live", func(o *infrav1.Terraform) {
		o.Spec.WriteOutputsToSecret = &infrav1.WriteOutputsToSecretSpec{Name: "fresh-outputs"}
	})
	makeStack(t, ns, "elsewhere", "live", func(o *infrav1.Terraform) {
		o.Spec.BackendConfig = &infrav1.BackendConfigSpec{CustomConfiguration: `backend "s3" {}`}
	})
	create(t,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "tfstate-prod-net"}, Data: map[string][]byte{"tfstate": packed(t, oneResource)}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "tfstate-default-damaged"}, Data: map[string][]byte{"tfstate": []byte("no gzip")}},
		&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "lock-tfstate-prod-net", Annotations: map[string]string{
			"app.terraform.io/lock-info": `{"ID":"1-2","Operation":"OperationTypeApply","Who":"runner@vpc-tf-runner","Created":"2026-01-02T13:34:05Z"}`}},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To("1-2")}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "tfplan-prod-vpc", OwnerReferences: []metav1.OwnerReference{
			{APIVersion: infrav1.GroupVersion.String(), Kind: "Terraform", Name: "vpc", UID: vpc.UID}}}})
	create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "fresh-outputs", OwnerReferences: []metav1.OwnerReference{
		*metav1.NewControllerRef(fresh, infrav1.GroupVersion.WithKind(infrav1.Kind))}}})
	// Readable plans of both look the same but for who wrote them.
	for name, writer := range map[string]client.FieldOwner{"tfplan-prod-vpc": "yuba", "tfplan-dev-vpc": "tofu-controller"} {
		readable := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: infrav1.GroupVersion.String(), Kind: "Terraform", Name: "vpc", UID: vpc.UID}}}}
		if err := apitest.Client(t).Create(t.Context(), readable, writer); err != nil {
			t.Fatal(err)
		}
	}
	report, err := Prepare(t.Context(), adoptClient(t, nil), ns, now)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{
		"vpc": {"fine state: Yuba uses Secret tfstate-prod-net as it is: serial 3, 1 resource, 1 KiB.",
			"attention lock: runner@vpc-tf-runner holds the lock since 2026-01-02T13:34:05Z (1h30m0s ago), for OperationTypeApply. " +
				"Yuba cannot check whether the holder is still running, so it waits and neither plans nor applies. If the holder is gone, release the lock after Yuba has started:" +
				" | yuba force-unlock vpc -n " + ns + " --lock-id 1-2",
			"note plan: Plan plan-main-1 is pending. Yuba shows it until the new plan is made, and does not apply it.",
			"note old plans: Plans of tofu-controller stay, and are deleted with the stack: Secret tfplan-prod-vpc, ConfigMap tfplan-dev-vpc."},
		"damaged": {"attention state: Secret tfstate-default-damaged does not contain a readable state: it is not compressed with gzip. Yuba runs nothing until it does.",
			"attention source: ExternalArtifact " + ns + "/missing does not exist. The stack waits for it, but can be deleted without it."},
		"fresh": {"fine state: The stack has no state yet; the first apply creates it in Secret tfstate-default-fresh."},
		"other": {"fine state: The stack has no state yet; the first apply creates it in Secret tfstate-default-other.",
			"attention outputs: Secret fresh-outputs belongs to Terraform fresh. Yuba does not overwrite it. The stack does not become Ready until that Secret is deleted " +
				"or spec.writeOutputsToSecret names another one."},
		"elsewhere": {"fine state: Yuba uses the custom backend of the stack as it is."},
	}
	if diff := cmp.Diff(want, findings(t, report)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"note source: Artifacts are served at source-controller.flux-system.svc.cluster.local., which only machines of the cluster can reach. " +
		"Run Yuba on one of them, or give its machine a route to the cluster and its DNS."}, lines(report.API)); diff != "" {
		t.Error(diff)
	}
	if stacks, api := report.Attention(); stacks != 3 || api {
		t.Errorf("%d stacks need action, the API: %v", stacks, api)
	}
}

// What somebody may not read is told, and is not taken for missing.
func TestWhatMayNotBeReadIsTold(t *testing.T) {
	ns := apitest.Namespace(t)
	makeStack(t, ns, "vpc", "live", func(o *infrav1.Terraform) { o.Status.LastAppliedRevision = "main@sha1:abc" })
	create(t, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "anna"},
		Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "anna-of-" + ns}},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"}})
	c := adoptClient(t, func(config *rest.Config) { config.Impersonate.UserName = "anna-of-" + ns })
	// Roles and bindings take a moment to be heard of.
	tick, deadline := time.NewTicker(20*time.Millisecond), time.Now().Add(20*time.Second)
	defer tick.Stop()
	report, err := Prepare(t.Context(), c, ns, now)
	for ; err != nil; report, err = Prepare(t.Context(), c, ns, now) {
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		<-tick.C
	}
	text := strings.Join(append(findings(t, report)["vpc"], lines(report.API)...), "\n")
	for _, part := range []string{"attention state: Cannot read Secret tfstate-default-vpc", "attention lock: The lock holder is unknown",
		"attention controller: Cannot check whether tofu-controller is alive", "attention controller: Cannot check whether the kind has all of Yuba's fields",
		"attention controller: Cannot list plans of tofu-controller"} {
		if !strings.Contains(text, part) {
			t.Errorf("nothing says %q in:\n%s", part, text)
		}
	}
	if strings.Contains(text, "is missing") {
		t.Errorf("something is taken for missing:\n%s", text)
	}
}

// A controller that is alive is found, one that has ended is not.
func TestALivingControllerIsFound(t *testing.T) {
	ns := apitest.Namespace(t)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "tofu-controller-" + leaderLease},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To("pod-1"), RenewTime: &metav1.MicroTime{Time: now.Add(-10 * time.Second)}, LeaseDurationSeconds: ptr.To[int32](35)}}
	create(t, lease)
	defer apitest.Client(t).Delete(context.WithoutCancel(t.Context()), lease) //nolint:errcheck // the next test makes its own
	for at, want := range map[time.Time]int{now: 1, now.Add(time.Minute): 0} {
		report, err := Prepare(t.Context(), adoptClient(t, nil), ns, at)
		if err != nil {
			t.Fatal(err)
		}
		if len(report.API) != want || want == 1 && !strings.Contains(report.API[0].Message, "pod-1 holds the Lease") {
			t.Errorf("at %s: %v", at, lines(report.API))
		}
	}
}

func TestWhichDeploymentsAreTofuControllers(t *testing.T) {
	deployment := func(name, label string, replicas *int32) appsv1.Deployment {
		return appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "flux-system", Name: name, Labels: map[string]string{"app.kubernetes.io/name": label}},
			Spec: appsv1.DeploymentSpec{Replicas: replicas}, Status: appsv1.DeploymentStatus{ReadyReplicas: 1}}
	}
	got := running([]appsv1.Deployment{deployment("tofu-controller", "", nil), deployment("mine", "tf-controller", ptr.To[int32](2)),
		deployment("tf-controller", "tf-controller", ptr.To[int32](0)), deployment("source-controller", "source-controller", nil)})
	want := []Workload{{"flux-system", "tofu-controller", "1 ready Pod"}, {"flux-system", "mine", "1 ready Pod"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheKindOfTofuControllerIsToldFromYubas(t *testing.T) {
	var kind apiextensionsv1.CustomResourceDefinition
	if err := adoptClient(t, nil).Get(t.Context(), client.ObjectKey{Name: kindName}, &kind); err != nil {
		t.Fatal(err)
	}
	if isOlder(&kind) {
		t.Error("Yuba's is taken for tofu-controller's")
	}
	for i := range kind.Spec.Versions {
		if schema := kind.Spec.Versions[i].Schema; schema != nil {
			delete(schema.OpenAPIV3Schema.Properties["status"].Properties, newestField)
		}
	}
	if !isOlder(&kind) {
		t.Error("one without Yuba's fields is taken for Yuba's")
	}
}
