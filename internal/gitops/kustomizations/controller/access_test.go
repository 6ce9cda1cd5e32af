// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/objects/clusters"
	"github.com/yuba-dev/yuba/internal/objects/engine"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

func TestAServiceAccountHasItsOwnRightsOnly(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": configMap("one", "1")})
	w.kustomization("app", func(s *kustomizev1.KustomizationSpec) {
		s.ServiceAccountName, s.Wait, s.RetryInterval = "deployer", true, &metav1.Duration{Duration: 300 * time.Millisecond}
	})
	if message := w.failing("app", "ReconciliationFailed"); !strings.Contains(message, "service account "+w.namespace+"/deployer does not exist") {
		t.Errorf("it says: %s", message)
	}
	w.must(w.c.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "deployer"}}))
	w.eventually("the API refuses", func() bool {
		c := conditions.Of(w.get("app"), meta.ReadyCondition)
		return strings.Contains(c.Message, "(Forbidden)") && strings.Contains(c.Message, "system:serviceaccount:"+w.namespace+":deployer")
	})
	if w.configMap("one") != nil {
		t.Fatal("an object was applied without the right to")
	}
	w.must(w.c.Create(ctx, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "deployer"},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "create", "patch"}}}}))
	w.must(w.c.Create(ctx, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "deployer"},
		RoleRef:  rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: "deployer"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "deployer", Namespace: w.namespace}}}))
	w.ready("app", "main@sha1:1")
	// Pruning is done with the same rights, and what could not be pruned stays in the inventory.
	w.publish("src", "main@sha1:2", map[string]string{"a.yaml": configMap("two", "1")})
	if message := w.failing("app", "PruneFailed"); !strings.Contains(message, "ConfigMap/"+w.namespace+"/one delete failed") {
		t.Errorf("it says: %s", message)
	}
	if ids := entriesOf(w.get("app")); len(ids) != 2 {
		t.Errorf("inventory is %v", ids)
	}
	// Objects of other namespaces are forbidden.
	w.publish("src", "main@sha1:3", map[string]string{"a.yaml": strings.ReplaceAll(configMap("one", "1")+configMap("two", "1"), "NAMESPACE", "default")})
	w.eventually("the other namespace is refused", func() bool {
		return strings.Contains(conditions.Of(w.get("app"), meta.ReadyCondition).Message, `in the namespace "default"`)
	})
	// Without the account, a deletion succeeds.
	w.must(w.c.Delete(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "deployer"}}))
	w.must(w.c.Delete(ctx, w.get("app")))
	w.leaves("app")
	if w.configMap("two") == nil {
		t.Error("an object was removed without a service account")
	}
}

// Force takes objects from other owners only with permission to write them.
func TestWhoMayNotWriteAnObjectDoesNotTakeIt(t *testing.T) {
	w := newWorld(t)
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": configMap("one", "1")})
	w.kustomization("owner", nil)
	w.ready("owner", "main@sha1:1")
	w.must(w.c.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "thief"}}))
	w.kustomization("thief", func(s *kustomizev1.KustomizationSpec) { s.ServiceAccountName, s.Force = "thief", true })
	if message := w.failing("thief", "ReconciliationFailed"); !strings.Contains(message, "(Forbidden)") {
		t.Errorf("it says: %s", message)
	}
	w.update("owner", func(k *kustomizev1.Kustomization) {
		k.Annotations = map[string]string{meta.ReconcileRequestAnnotation: "now"}
	})
	w.eventually("the request is answered", func() bool { return w.get("owner").Status.LastHandledReconcileAt == "now" })
	if k := w.ready("owner", "main@sha1:1"); len(entriesOf(k)) != 1 {
		t.Errorf("inventory is %v", entriesOf(k))
	}
}

// A pruned role binding must not stay because somebody without permission also contains it.
func TestWhoMayNotWriteAnObjectDoesNotKeepItFromBeingPruned(t *testing.T) {
	w := newWorld(t)
	w.publish("src", "main@sha1:1", map[string]string{"owner/a.yaml": configMap("one", "1"), "other/a.yaml": configMap("one", "2")})
	w.kustomization("owner", func(s *kustomizev1.KustomizationSpec) { s.Path = "owner" })
	w.ready("owner", "main@sha1:1")
	w.must(w.c.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "other"}}))
	w.kustomization("other", func(s *kustomizev1.KustomizationSpec) { s.ServiceAccountName, s.Path = "other", "other" })
	if message := w.failing("other", "ReconciliationFailed"); !strings.Contains(message, "(Forbidden)") {
		t.Errorf("it says: %s", message)
	}
	w.publish("src", "main@sha1:2", map[string]string{"owner/b.yaml": configMap("two", "1"), "other/a.yaml": configMap("one", "2")})
	w.ready("owner", "main@sha1:2")
	w.eventually("what was taken out is gone", func() bool { return w.configMap("one") == nil })
}

func TestTheDefaultServiceAccountIsForThoseWhoNameNone(t *testing.T) {
	r := &Reconciler{DefaultServiceAccount: "flux"}
	named := &kustomizev1.Kustomization{Spec: kustomizev1.KustomizationSpec{ServiceAccountName: "own"}}
	if got := r.accountOf(&kustomizev1.Kustomization{}); got != "flux" {
		t.Errorf("without a service account: %q", got)
	}
	if got := r.accountOf(named); got != "own" {
		t.Errorf("with a service account: %q", got)
	}
}

// kubeconfigOf writes a configuration as a kubeconfig that names no files.
func kubeconfigOf(t *testing.T, config *rest.Config) []byte {
	t.Helper()
	c := clientcmdapi.NewConfig()
	c.Clusters["c"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData, TLSServerName: config.ServerName}
	c.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: config.BearerToken, ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	c.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	c.CurrentContext = "x"
	content, err := clientcmd.Write(*c)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestARemoteClusterIsReachedByItsKubeconfig(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": configMap("one", "1") + terraform("net")})
	w.kustomization("app", func(s *kustomizev1.KustomizationSpec) {
		s.KubeConfig = &meta.KubeConfigReference{SecretRef: &meta.SecretKeyReference{Name: "remote"}}
		s.Interval.Duration, s.Wait = time.Second, true
	})
	if message := w.failing("app", "ReconciliationFailed"); !strings.Contains(message, "Secret "+w.namespace+"/remote of spec.kubeConfig does not exist") {
		t.Errorf("it says: %s", message)
	}
	w.must(w.c.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "remote"},
		Data: map[string][]byte{"value": kubeconfigOf(t, apitest.API(t).RESTConfig())}}))
	w.eventually("the objects are there", func() bool { return w.configMap("one") != nil })
	w.setTerraform("net", metav1.ConditionTrue)
	w.ready("app", "main@sha1:1")
	// Remote objects are not watched: the interval undoes changes.
	w.must(w.c.Delete(ctx, w.configMap("one")))
	w.eventually("the object is made again", func() bool { return w.configMap("one") != nil })
	w.must(w.c.Delete(ctx, w.get("app")))
	w.leaves("app")
	w.eventually("the object goes", func() bool { return w.configMap("one") == nil })
}

// A Kustomization waits quietly while too many remote clusters are in use, then gets its turn.
func TestARemoteClusterIsUsedInTurn(t *testing.T) {
	w := newWorld(t)
	turns, other := w.r.clusters.turns, engine.Owner{Namespace: w.namespace, Name: "other"}
	inside := 0
	for ; turns.Enter(other); inside++ {
	}
	w.r.wake(turns.Yield(other))
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": configMap("one", "1")})
	w.must(w.c.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "remote"},
		Data: map[string][]byte{"value": kubeconfigOf(t, apitest.API(t).RESTConfig())}}))
	w.kustomization("app", func(s *kustomizev1.KustomizationSpec) {
		s.KubeConfig = &meta.KubeConfigReference{SecretRef: &meta.SecretKeyReference{Name: "remote"}}
	})
	w.eventually("it has begun", func() bool { return len(w.get("app").Finalizers) > 0 })
	if c := conditions.Of(w.get("app"), meta.ReadyCondition); c.Status == metav1.ConditionFalse || w.configMap("one") != nil {
		t.Errorf("it does not wait: %v", c)
	}
	for range inside {
		w.r.wake(turns.Exit())
	}
	w.ready("app", "main@sha1:1")
}

func TestKubeconfigsThatAreRefused(t *testing.T) {
	const head = "apiVersion: v1\nkind: Config\ncurrent-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
	const cluster = "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\n"
	for sentence, c := range map[string]struct{ content, want string }{
		"a program":      {head + cluster + "users: [{name: u, user: {exec: {command: sh, apiVersion: client.authentication.k8s.io/v1}}}]", "from a program"},
		"a provider":     {head + cluster + "users: [{name: u, user: {auth-provider: {name: gcp}}}]", "from a program"},
		"a token file":   {head + cluster + "users: [{name: u, user: {tokenFile: /etc/passwd}}]", "names files"},
		"a key file":     {head + cluster + "users: [{name: u, user: {client-key: /etc/passwd, client-certificate: /x}}]", "names files"},
		"an authority":   {head + "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1', certificate-authority: /etc/passwd}}]", "names a file"},
		"no verifying":   {head + "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1', insecure-skip-tls-verify: true}}]", "is not verified"},
		"no kubeconfig":  {"token: hunter2\n\t", "is invalid"},
		"nothing at all": {"{}", "no current context"},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := clusters.Config([]byte(c.content))
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("got %v", err)
			}
		})
	}
	if _, err := clusters.Config([]byte(head + cluster + "users: [{name: u, user: {token: t}}]")); err != nil {
		t.Errorf("a kubeconfig with a token: %v", err)
	}
}
