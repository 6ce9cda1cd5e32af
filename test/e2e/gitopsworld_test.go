// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/gittest"
	"github.com/yuba-dev/yuba/internal/testkit/ocitest"
	"github.com/yuba-dev/yuba/internal/testkit/statetest"
)

// landscape is the running example examples/reasonable-scale: its central repository on a git
// server, the code of its stacks in a registry, its states in a backend, and a Yuba that has only
// the bootstrap manifests.
type landscape struct {
	*yuba
	git      *gittest.Server
	central  *gittest.Repository
	registry *ocitest.Registry
	states   *statetest.Server
}

// example is the example's directory.
func example(elem ...string) string {
	return filepath.Join(append([]string{"..", "..", "examples", "reasonable-scale"}, elem...)...)
}

// newLandscape starts everything and publishes the modules and the first version of every stack's code.
func newLandscape(t *testing.T) *landscape {
	t.Helper()
	l := &landscape{git: gittest.New(t), registry: ocitest.New(t), states: statetest.New(t, "tofu", "sesame"),
		yuba: alone(t, "--registry-host", "registry.example.com")}
	l.central = l.git.Repository(t, "central")
	l.central.CommitTree(t, "the beginning", example("central"))
	l.do(t, "registry", "push", "--recursive", example("modules"))
	for name, version := range firstVersions {
		l.publish(t, name, version, nil)
	}
	return l
}

// firstVersions are the initial versions of the example's environments.
var firstVersions = map[string]string{"account": "1.0.0", "network": "1.0.0", "cluster": "1.0.0", "foo": "0.1.0", "bar": "0.1.0"}

// publish pushes a version of a stack's code, with files added or replaced.
func (l *landscape) publish(t *testing.T, name, version string, files map[string]string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.CopyFS(dir, os.DirFS(example("iac", name))); err != nil {
		t.Fatal(err)
	}
	for file, content := range files {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	l.do(t, "push", "artifact", l.registry.URL("iac/"+name)+":"+version, "--path", dir, "--insecure-registry",
		"--source", "https://git.example.com/"+name, "--revision", version+"@sha1:"+strings.Repeat("0", 40))
}

// bootstrap creates an environment like the example's script.
func (l *landscape) bootstrap(t *testing.T, tenant, environment string) string {
	t.Helper()
	l.apply(t, l.bootstrapManifests(t, tenant, environment))
	return tenant + "-" + environment
}

func (l *landscape) bootstrapManifests(t *testing.T, tenant, environment string) []byte {
	t.Helper()
	script := exec.CommandContext(t.Context(), "sh", example("bootstrap.sh"), tenant, environment)
	script.Env = []string{"PATH=" + os.Getenv("PATH"), "CENTRAL=" + l.central.URL(), "REGISTRY=" + l.registry.Host(), "REGISTRY_INSECURE=true",
		"STATES=" + l.states.URL(), "STATES_USERNAME=tofu", "STATES_PASSWORD=sesame", "RECEIVER_TOKEN=ring"}
	var errs bytes.Buffer
	script.Stderr = &errs
	manifests, err := script.Output()
	if err != nil {
		t.Fatalf("bootstrap.sh: %v\n%s", err, errs.String())
	}
	return manifests
}

// apply applies manifests as `kubectl apply -f` does.
func (l *landscape) apply(t *testing.T, manifests []byte) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "manifests.yaml")
	if err := os.WriteFile(file, manifests, 0o600); err != nil {
		t.Fatal(err)
	}
	l.do(t, "kubectl", "apply", "-f", file)
}

// edit replaces text in files of the central repository and pushes a commit.
func (l *landscape) edit(t *testing.T, message string, edits map[string][2]string) {
	t.Helper()
	files := gittest.Files{}
	for name, edit := range edits {
		text := readFile(t, filepath.Join(l.central.Tree(), name))
		if !strings.Contains(text, edit[0]) {
			t.Fatalf("%s does not hold %q:\n%s", name, edit[0], text)
		}
		files[name] = strings.ReplaceAll(text, edit[0], edit[1])
	}
	l.central.Commit(t, message, files)
}

// ring calls the Receiver of a namespace, like a git server or registry after a push.
func (l *landscape) ring(t *testing.T, namespaces ...string) {
	t.Helper()
	for _, ns := range namespaces {
		var receiver notificationv1.Receiver
		l.eventually(t, "the receiver of "+ns+" has a path", func() string {
			if err := l.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "pushed"}, &receiver); err != nil {
				return err.Error()
			}
			if receiver.Status.WebhookPath == "" {
				return fmt.Sprintf("%+v", receiver.Status)
			}
			return ""
		})
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+l.http+receiver.Status.WebhookPath, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := (&http.Client{Timeout: patience}).Do(request)
		if err != nil {
			t.Fatalf("ring at %s: %v", ns, err)
		}
		said, _ := io.ReadAll(answer.Body) //nolint:errcheck // only for the message
		answer.Body.Close()                //nolint:errcheck // read only
		if answer.StatusCode != http.StatusOK {
			t.Fatalf("ring at %s: %s: %s", ns, answer.Status, said)
		}
	}
}

// eventually polls until wrong returns nothing.
func (l *landscape) eventually(t *testing.T, sentence string, wrong func() string) {
	t.Helper()
	said := ""
	for deadline := time.Now().Add(3 * patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if said = wrong(); said == "" {
			return
		}
	}
	t.Fatalf("%s, and that did not come about: %s\nEverything:\n%s\nServer:\n%s", sentence, said, l.everything(t), l.logTail())
}

// everything describes each object in a line, for failures.
func (l *landscape) everything(t *testing.T) string {
	var b strings.Builder
	for _, kind := range []schema.GroupVersionKind{sourcev1.GroupVersion.WithKind(sourcev1.GitRepositoryKind),
		sourcev1.GroupVersion.WithKind(sourcev1.OCIRepositoryKind), kustomizev1.GroupVersion.WithKind(kustomizev1.KustomizationKind),
		infrav1.GroupVersion.WithKind("Terraform")} {
		for _, o := range l.all(t, kind) {
			fmt.Fprintf(&b, "%s %s/%s: %s\n", kind.Kind, o.GetNamespace(), o.GetName(), readiness(t, o))
		}
	}
	return b.String()
}

// readiness describes the condition Ready.
func readiness(t *testing.T, o unstructured.Unstructured) string {
	var status struct {
		Status struct{ Conditions []metav1.Condition }
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &status); err != nil {
		t.Fatal(err)
	}
	if c := apimeta.FindStatusCondition(status.Status.Conditions, meta.ReadyCondition); c != nil {
		return fmt.Sprintf("%s %s %s", c.Status, c.Reason, c.Message)
	}
	return "it has not been reconciled"
}

// stack is the key of a stack.
func stack(namespace, name string) *infrav1.Terraform {
	return &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// applies waits until a stack is ready with a version of its code.
func applies(version string) func(*infrav1.Terraform) bool {
	return func(o *infrav1.Terraform) bool {
		return ready(o) && strings.HasPrefix(o.Status.LastAppliedRevision, version+"@sha256:")
	}
}

// plans waits until a plan for a version waits for approval.
func plans(version string) func(*infrav1.Terraform) bool {
	return func(o *infrav1.Terraform) bool {
		return waiting(o) && strings.HasPrefix(o.Status.LastPlannedRevision, version+"@sha256:")
	}
}

// approveNext approves the plans of a stack for a version until one is applied: while a plan waits,
// the inputs of the stack may change, and another plan replaces it.
func (l *landscape) approveNext(t *testing.T, namespace, name, version string) {
	t.Helper()
	o := stack(namespace, name)
	l.eventually(t, namespace+"/"+name+" applies "+version+" once it is approved", func() string {
		if err := l.client.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return err.Error()
		}
		if applies(version)(o) {
			return ""
		}
		if plans(version)(o) && !o.Status.Plan.Approved {
			// A plan that was replaced meanwhile is refused.
			_, said, _ := l.run(t, "approve", namespace+"/"+name, o.Status.Plan.Pending)
			return said
		}
		return fmt.Sprintf("%+v", condition(o, infrav1.ConditionReady))
	})
}

// stacks lists all stacks.
func (l *landscape) stacks(t *testing.T) []infrav1.Terraform {
	t.Helper()
	var found infrav1.TerraformList
	if err := l.client.List(t.Context(), &found); err != nil {
		t.Fatal(err)
	}
	return found.Items
}

// runs is the last run of each stack.
func (l *landscape) runs(t *testing.T) map[string]string {
	t.Helper()
	runs := map[string]string{}
	for _, o := range l.stacks(t) {
		id := ""
		if o.Status.LastRun != nil {
			id = o.Status.LastRun.ID
		}
		if o.Status.CurrentRun != nil {
			id += " and now " + o.Status.CurrentRun.ID
		}
		runs[name(&o)] = id
	}
	return runs
}

// onlyRan fails unless exactly these stacks have run since.
func (l *landscape) onlyRan(t *testing.T, since map[string]string, stacks ...string) {
	t.Helper()
	var ran []string
	for stack, id := range l.runs(t) {
		if since[stack] != id {
			ran = append(ran, stack)
		}
	}
	sort.Strings(ran)
	sort.Strings(stacks)
	if diff := cmp.Diff(stacks, ran); diff != "" {
		t.Errorf("the stacks that had runs (-want +got):\n%s", diff)
	}
}

// lookAgain requests a reconciliation of every source and every Kustomization, one kind after the
// other, and waits for their ends.
func (l *landscape) lookAgain(t *testing.T) {
	t.Helper()
	at := time.Now().Format(time.RFC3339Nano)
	for _, kind := range []schema.GroupVersionKind{sourcev1.GroupVersion.WithKind(sourcev1.GitRepositoryKind),
		sourcev1.GroupVersion.WithKind(sourcev1.OCIRepositoryKind), kustomizev1.GroupVersion.WithKind(kustomizev1.KustomizationKind)} {
		for _, o := range l.all(t, kind) {
			request := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, meta.ReconcileRequestAnnotation, at)
			if err := l.client.Patch(t.Context(), &o, client.RawPatch(types.MergePatchType, request)); err != nil {
				t.Fatal(err)
			}
		}
		l.eventually(t, "every "+kind.Kind+" is looked at", func() string {
			for _, o := range l.all(t, kind) {
				handled, _, _ := unstructured.NestedString(o.Object, "status", "lastHandledReconcileAt") //nolint:errcheck // what is no text is not handled
				if handled != at {
					return o.GetNamespace() + "/" + o.GetName() + " is not"
				}
			}
			return ""
		})
	}
}

// all lists the objects of a kind.
func (l *landscape) all(t *testing.T, kind schema.GroupVersionKind) []unstructured.Unstructured {
	t.Helper()
	found := &unstructured.UnstructuredList{}
	found.SetGroupVersionKind(kind)
	if err := l.client.List(t.Context(), found); err != nil {
		t.Fatal(err)
	}
	return found.Items
}
