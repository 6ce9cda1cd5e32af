// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	notificationv1beta3 "github.com/fluxcd/notification-controller/api/v1beta3"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m, serveFigures) }

// called is what came of a command line.
type called struct {
	out, news string
	code      int
}

// yuba runs a command line on the API of the tests.
func yuba(t *testing.T, namespace string, args ...string) called {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var out, news bytes.Buffer
	args = append([]string{"--kubeconfig", apitest.API(t).Kubeconfig(), "-n", namespace}, args...)
	code := Execute(ctx, args, strings.NewReader(""), &out, &news)
	return called{out.String(), news.String(), code}
}

func (c called) want(t *testing.T, code int, out string, news ...string) {
	t.Helper()
	if c.code != code {
		t.Errorf("code %d, want %d: %s%s", c.code, code, c.out, c.news)
	}
	if diff := cmp.Diff(out, c.out); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	for _, part := range news {
		if !strings.Contains(c.news, part) {
			t.Errorf("the news lack %q:\n%s", part, c.news)
		}
	}
}

// condition is Ready as a controller sets it.
func condition(status metav1.ConditionStatus, reason, message string) []metav1.Condition {
	return []metav1.Condition{{Type: meta.ReadyCondition, Status: status, Reason: reason, Message: message, ObservedGeneration: 1, LastTransitionTime: metav1.Now()}}
}

func put(t *testing.T, objects ...client.Object) {
	t.Helper()
	c := apitest.Client(t)
	for _, o := range objects {
		whole, ok := o.DeepCopyObject().(client.Object)
		if !ok {
			t.Fatalf("%T cannot be copied", o)
		}
		if err := c.Create(context.Background(), o); err != nil {
			t.Fatal(err)
		}
		whole.SetResourceVersion(o.GetResourceVersion())
		if err := c.Status().Update(context.Background(), whole); err != nil && !apierrors.IsNotFound(err) { // some kinds have none
			t.Fatal(err)
		}
	}
}

func named(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

func appliedBy(o metav1.ObjectMeta, owner string) metav1.ObjectMeta {
	o.Labels = map[string]string{session.LabelOwnerName: owner, session.LabelOwnerNamespace: o.Namespace}
	return o
}

const (
	commit = "main@sha1:0123456789abcdef0123456789abcdef01234567"
	digest = "1.4.0@sha256:fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
)

func artifact(revision string) *meta.Artifact {
	return &meta.Artifact{Path: "a", URL: "https://example.com/a", Revision: revision, Digest: "sha256:" + strings.Repeat("0", 64), LastUpdateTime: metav1.Now()}
}

// landscape fills a namespace: a repository, a Kustomization that applied another one, which applied a stack of an OCI
// artifact that cannot be fetched any more.
func landscape(t *testing.T) string {
	t.Helper()
	ns := apitest.Namespace(t)
	inventory := func(ids ...string) *kustomizev1.ResourceInventory {
		i := &kustomizev1.ResourceInventory{}
		for _, id := range ids {
			i.Entries = append(i.Entries, kustomizev1.ResourceRef{ID: id, Version: "v1"})
		}
		return i
	}
	git := &sourcev1.GitRepository{ObjectMeta: named(ns, "infra"), Spec: sourcev1.GitRepositorySpec{URL: "https://example.com/infra", Interval: metav1.Duration{Duration: time.Minute}}}
	git.Status.Artifact, git.Status.Conditions = artifact(commit), condition(metav1.ConditionTrue, "Succeeded", "stored artifact for revision '"+commit+"'")
	oci := &sourcev1.OCIRepository{ObjectMeta: appliedBy(named(ns, "network"), "team"), Spec: sourcev1.OCIRepositorySpec{URL: "oci://example.com/network", Interval: metav1.Duration{Duration: time.Minute}}}
	oci.Status.Artifact, oci.Status.Conditions = artifact(digest), condition(metav1.ConditionFalse, "OCIArtifactPullFailed", "no route to host")
	ref := kustomizev1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "infra"}
	root := &kustomizev1.Kustomization{ObjectMeta: named(ns, "root"), Spec: kustomizev1.KustomizationSpec{SourceRef: ref, Path: "./clusters/prod", Interval: metav1.Duration{Duration: time.Hour}, Prune: true}}
	root.Status.LastAppliedRevision, root.Status.LastAttemptedRevision = commit, commit
	root.Status.Conditions = condition(metav1.ConditionTrue, "ReconciliationSucceeded", "Applied revision: "+commit)
	root.Status.Inventory = inventory(ns+"_init__ConfigMap", "_admins:of__x_rbac.authorization.k8s.io_ClusterRole", ns+"_team_kustomize.toolkit.fluxcd.io_Kustomization", ns+"_gone_kustomize.toolkit.fluxcd.io_Kustomization")
	root.Status.Inventory.Entries[1].ID = "_admins__of_rbac.authorization.k8s.io_ClusterRole"
	team := &kustomizev1.Kustomization{ObjectMeta: appliedBy(named(ns, "team"), "root"), Spec: kustomizev1.KustomizationSpec{SourceRef: ref, Path: "./team", Interval: metav1.Duration{Duration: time.Hour}, Prune: true, Suspend: true}}
	team.Status.LastAppliedRevision = commit
	team.Status.Conditions = condition(metav1.ConditionTrue, "ReconciliationSucceeded", "Applied revision: "+commit)
	team.Status.Inventory = inventory(ns+"_network_source.toolkit.fluxcd.io_OCIRepository", ns+"_vpc_infra.contrib.fluxcd.io_Terraform", ns+"_root_kustomize.toolkit.fluxcd.io_Kustomization")
	vpc := &infrav1.Terraform{ObjectMeta: appliedBy(named(ns, "vpc"), "team"), Spec: infrav1.TerraformSpec{Interval: metav1.Duration{Duration: time.Hour},
		SourceRef:            &infrav1.CrossNamespaceSourceReference{Kind: "OCIRepository", Name: "network"},
		WriteOutputsToSecret: &infrav1.WriteOutputsToSecretSpec{Name: "vpc-outputs"}}}
	vpc.Status.LastAppliedRevision, vpc.Status.LastAttemptedRevision, vpc.Status.ObservedGeneration = digest, digest, 1
	vpc.Status.Summary = "Plan failed"
	vpc.Status.Conditions = condition(metav1.ConditionFalse, infrav1.ReasonPlanFailed, "no such region\nat main.tf")
	hook := &notificationv1.Receiver{ObjectMeta: named(ns, "push"), Spec: notificationv1.ReceiverSpec{Type: "github", SecretRef: &meta.LocalObjectReference{Name: "token"},
		Resources: []notificationv1.ReceiverResource{{CrossNamespaceObjectReference: notificationv1.CrossNamespaceObjectReference{Kind: "GitRepository", Name: "infra"}}}}}
	hook.Status.Conditions = condition(metav1.ConditionTrue, "Succeeded", "Receiver initialized for path: /hook/0123")
	chat := &notificationv1beta3.Provider{ObjectMeta: named(ns, "chat"), Spec: notificationv1beta3.ProviderSpec{Type: "slack", Address: "https://example.com"}}
	loud := &notificationv1beta3.Alert{ObjectMeta: named(ns, "loud"), Spec: notificationv1beta3.AlertSpec{ProviderRef: meta.LocalObjectReference{Name: "chat"},
		EventSources: []notificationv1.CrossNamespaceObjectReference{{Kind: "Kustomization", Name: "*"}}}}
	put(t, git, oci, root, team, vpc, hook, chat, loud)
	return ns
}

// columnsOf makes tables comparable that are as wide as the names of namespaces.
func columnsOf(text, namespace string) string {
	return regexp.MustCompile(`  +`).ReplaceAllString(strings.ReplaceAll(text, namespace, "NS"), "  ")
}

func TestGet(t *testing.T) {
	ns := landscape(t)
	all := `NAME  REVISION  READY  MESSAGE
gitrepository/infra  main@sha1:0123456789  True  stored artifact for revision 'main@sha1:0123…
ocirepository/network  1.4.0@sha256:fedcba9876  False  no route to host
kustomization/root  main@sha1:0123456789  True  Applied revision: main@sha1:0123456789abcdef…
kustomization/team  main@sha1:0123456789  True  Suspended; Applied revision: main@sha1:01234…
terraform/vpc  1.4.0@sha256:fedcba9876  False  Plan failed
receiver/push  True  Receiver initialized for path: /hook/0123
provider/chat
alert/loud
`
	wide := strings.NewReplacer("HEAD", "NAME  REVISION  SUSPENDED  READY  MESSAGE", "GIT", commit, "OCI", digest).Replace(`HEAD
gitrepository/infra  GIT  False  True  stored artifact for revision 'GIT'
ocirepository/network  OCI  False  False  no route to host
kustomization/root  GIT  False  True  Applied revision: GIT
kustomization/team  GIT  True  True  Applied revision: GIT
terraform/vpc  OCI  False  False  no such region at main.tf
receiver/push  False  True  Receiver initialized for path: /hook/0123
provider/chat  False
alert/loud  False
`)
	for line, want := range map[string]string{
		"get all":         all,
		"get all -o wide": wide,
		"get all --no-header --status-selector ready=false": "ocirepository/network  1.4.0@sha256:fedcba9876  False  no route to host\n" +
			"terraform/vpc  1.4.0@sha256:fedcba9876  False  Plan failed\n",
		"get sources -o name":                  "gitrepository.source.toolkit.fluxcd.io/infra\nocirepository.source.toolkit.fluxcd.io/network\n",
		"get sources oci":                      "NAME  REVISION  READY  MESSAGE\nnetwork  1.4.0@sha256:fedcba9876  False  no route to host\n",
		"get gitrepo infra --no-header":        "infra  main@sha1:0123456789  True  stored artifact for revision 'main@sha1:0123456789abcdef0123456…\n",
		"get ks team NS/root -o name":          "kustomization.kustomize.toolkit.fluxcd.io/team\nkustomization.kustomize.toolkit.fluxcd.io/root\n",
		"get receivers":                        "NAME  READY  MESSAGE\npush  True  Receiver initialized for path: /hook/0123\n",
		"get alert-providers":                  "NAME  SUSPENDED\nchat  False\n",
		"get alerts":                           "NAME  SUSPENDED\nloud  False\n",
		"get stacks -o name":                   "terraform.infra.contrib.fluxcd.io/vpc\n",
		"get kustomizations -l team=x -o name": "",
		"get vpc -o name":                      "terraform.infra.contrib.fluxcd.io/vpc\n",
		"get sources all -A --no-header -o name -l " + session.LabelOwnerNamespace + "=NS": "ocirepository.source.toolkit.fluxcd.io/network\n",
	} {
		t.Run(line, func(t *testing.T) {
			got := yuba(t, ns, strings.Fields(strings.ReplaceAll(line, "NS", ns))...)
			got.out = columnsOf(got.out, ns)
			got.want(t, ui.ExitOK, want)
		})
	}
	list := yuba(t, ns, "get", "kustomizations", "root", "-o", "yaml")
	if !strings.HasPrefix(list.out, "apiVersion: v1\nitems:\n- apiVersion: kustomize.toolkit.fluxcd.io/v1\n  kind: Kustomization\n") || !strings.Contains(list.out, "prune: true") {
		t.Errorf("got %s", list.out)
	}
	everywhere := yuba(t, "default", "get", "kustomizations", "-A", "-l", session.LabelOwnerNamespace+"="+ns, "-o", "wide")
	everywhere.out = columnsOf(everywhere.out, ns)
	everywhere.want(t, ui.ExitOK, "NAMESPACE  NAME  REVISION  SUSPENDED  READY  MESSAGE\nNS  team  "+commit+"  True  True  Applied revision: "+commit+"\n")
}

func TestGetOfWhatIsNotThere(t *testing.T) {
	ns := apitest.Namespace(t)
	yuba(t, ns, "get", "gitrepositories", "nope").want(t, ui.ExitNotFound, "", "get GitRepository "+ns+"/nope: there is no such GitRepository", "yuba get gitrepositories -n "+ns)
	yuba(t, ns, "get", "ks").want(t, ui.ExitOK, "", "No Kustomizations found in namespace "+ns+". Use -A to list all namespaces.")
	yuba(t, ns, "get", "all").want(t, ui.ExitOK, "", "No sources, Kustomizations, tenants, stacks, receivers or alerts found in namespace "+ns)
	yuba(t, ns, "get", "alerts", "-A", "-l", "a=b").want(t, ui.ExitOK, "", "No such Alerts found.")
	yuba(t, ns, "get", "sources", "nope").want(t, ui.ExitUsage, "", `there is no command "yuba get sources nope"`)
	yuba(t, ns, "get", "ks", "--status-selector", "ready").want(t, ui.ExitUsage, "", "want CONDITION=STATUS")
	yuba(t, ns, "get", "ks", "a", "-A").want(t, ui.ExitUsage, "", "name Kustomizations or use -A or -l, not both")
	yuba(t, ns, "get", "ks", "a/b/c").want(t, ui.ExitUsage, "", "is not the name of a Kustomization")
	yuba(t, ns, "get", "ks", "-w", "-o", "json").want(t, ui.ExitUsage, "", "--watch only prints tables")
	yuba(t, ns, "get", "all", "-w").want(t, ui.ExitUsage, "", "unknown shorthand flag")
}

// lines collects what a command writes, line by line.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	for line := range strings.SplitSeq(strings.TrimSuffix(string(b), "\n"), "\n") {
		l <- line
	}
	return len(b), nil
}

func (l lines) next(t *testing.T) string {
	t.Helper()
	select {
	case line := <-l:
		return regexp.MustCompile(`  +`).ReplaceAllString(line, "  ")
	case <-time.After(time.Minute):
		t.Fatal("no line came")
	}
	return ""
}

func TestGetGoesOn(t *testing.T) {
	ns := landscape(t)
	ctx, cancel := context.WithCancel(context.Background())
	shown, news := make(lines, 100), make(lines, 100)
	ended := make(chan int)
	go func() {
		ended <- Execute(ctx, []string{"--kubeconfig", apitest.API(t).Kubeconfig(), "-n", ns, "get", "sources", "git", "--watch", "--status-selector", "ready=true"}, strings.NewReader(""), shown, news)
	}()
	if got := shown.next(t); got != "NAME  REVISION  READY  MESSAGE" {
		t.Errorf("got %q", got)
	}
	if got := shown.next(t); !strings.HasPrefix(got, "infra  main@sha1:0123456789  True") {
		t.Errorf("got %q", got)
	}
	c := apitest.Client(t)
	var git sourcev1.GitRepository
	if err := c.Get(ctx, client.ObjectKey{Namespace: ns, Name: "infra"}, &git); err != nil {
		t.Fatal(err)
	}
	git.Labels = map[string]string{"nothing": "to-see"}
	if err := c.Update(ctx, &git); err != nil {
		t.Fatal(err)
	}
	git.Status.Artifact = artifact("main@sha1:ffffffffffffffffffffffffffffffffffffffff")
	if err := c.Status().Update(ctx, &git); err != nil {
		t.Fatal(err)
	}
	if got := shown.next(t); !strings.HasPrefix(got, "infra  main@sha1:ffffffffff  True") {
		t.Errorf("got %q", got)
	}
	if err := c.Delete(ctx, &git); err != nil {
		t.Fatal(err)
	}
	if got := shown.next(t); !strings.HasSuffix(got, "deleted") {
		t.Errorf("got %q", got)
	}
	cancel()
	if code := <-ended; code != ui.ExitInterrupted {
		t.Errorf("code %d", code)
	}
}

func TestEvents(t *testing.T) {
	ns := apitest.Namespace(t)
	c := apitest.Client(t)
	for i, e := range []struct{ kind, name, level, reason string }{
		{"GitRepository", "infra", "Normal", "NewArtifact"}, {"Kustomization", "apps", "Warning", "BuildFailed"}, {"Kustomization", "other", "Normal", "Progressing"},
	} {
		if err := c.Create(context.Background(), event(ns, e.kind, e.name, e.level, e.reason, "told", time.Now().Add(time.Duration(i-10)*time.Minute))); err != nil {
			t.Fatal(err)
		}
	}
	const head = "LAST SEEN  TYPE  REASON  OBJECT  MESSAGE\n"
	for line, want := range map[string]string{
		"events":                                head + "10m  Normal  NewArtifact  gitrepository/infra  told\n9m  Warning  BuildFailed  kustomization/apps  told\n8m  Normal  Progressing  kustomization/other  told\n",
		"events --for ks/apps":                  head + "9m  Warning  BuildFailed  kustomization/apps  told\n",
		"events --for Kustomization/apps":       head + "9m  Warning  BuildFailed  kustomization/apps  told\n",
		"events --types Normal --for git/infra": head + "10m  Normal  NewArtifact  gitrepository/infra  told\n",
	} {
		t.Run(line, func(t *testing.T) {
			got := yuba(t, ns, strings.Fields(line)...)
			got.out = columnsOf(got.out, ns)
			got.want(t, ui.ExitOK, want)
		})
	}
	yuba(t, ns, "events", "--for", "ks/none").want(t, ui.ExitOK, "", "No events found.")
	yuba(t, ns, "events", "--for", "apps").want(t, ui.ExitUsage, "", "want KIND/NAME")
	yuba(t, ns, "events", "--types", "Loud").want(t, ui.ExitUsage, "", "want Normal or Warning")
	if got := yuba(t, ns, "events", "--for", "ks/none", "-o", "json"); !strings.Contains(got.out, `"items": []`) {
		t.Errorf("got %s", got.out)
	}
	if got := yuba(t, "default", "events", "-A", "--for", "ks/apps"); !strings.Contains(columnsOf(got.out, ns), fmt.Sprintf("\n%s  ", "NS")) {
		t.Errorf("got %s", got.out)
	}
}
