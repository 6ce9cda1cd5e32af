// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package external_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	externalv1 "github.com/yuba-dev/yuba/api/external/v1"
	"github.com/yuba-dev/yuba/internal/testkit/cloudtest"
	"github.com/yuba-dev/yuba/internal/testkit/ssmtest"
)

func TestASecretFollowsItsStore(t *testing.T) {
	w := newWorld(t)
	w.apply(`
kind: ExternalSecret
metadata: {name: shop}
spec:
  refreshInterval: 1s
  secretStoreRef: {name: vault}
  data: [{secretKey: db_password, remoteRef: {key: NS/shop, property: password}}]
  dataFrom: [{extract: {key: NS/shop}}]`)
	w.await("shop", externalv1.ReasonSecretSyncedError, `has no secret "`+w.namespace+`/shop"`)
	w.put("shop", map[string]any{"password": "hunter2", "port": 5432})
	w.has("shop", map[string]string{"db_password": "hunter2", "password": "hunter2", "port": "5432"})
	w.await("shop", externalv1.ReasonSecretSynced, "secret synced")
	w.put("shop", map[string]any{"password": "hunter3"})
	s := w.has("shop", map[string]string{"db_password": "hunter3", "password": "hunter3"})
	w.tells(externalv1.ReasonUpdated, "wrote Secret shop", "hunter2", "hunter3")
	w.tells(externalv1.ReasonCreated, "created Secret shop", "hunter2", "hunter3")

	// Keys of others stay; keys of ours are restored.
	s.Data["db_password"], s.Data["mine"] = []byte("changed"), []byte("stays")
	if err := w.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	w.has("shop", map[string]string{"db_password": "hunter3", "mine": "stays", "password": "hunter3"})
	if err := w.Delete(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	w.has("shop", map[string]string{"db_password": "hunter3", "password": "hunter3"})

	// With Retain, what the store lost is an error, and the Secret stays.
	w.drop("shop")
	w.await("shop", externalv1.ReasonSecretSyncedError, "has no secret")
	w.has("shop", map[string]string{"db_password": "hunter3", "password": "hunter3"})

	// The object owns it.
	es := &externalv1.ExternalSecret{}
	es.Namespace, es.Name = w.namespace, "shop"
	if err := w.Delete(t.Context(), es); err != nil {
		t.Fatal(err)
	}
	w.has("shop", nil)
}

func TestCloudsAreRead(t *testing.T) {
	w := newWorld(t)
	name := strings.ReplaceAll(w.namespace, "/", "-") + "-shop"
	shared.aws.SetSecret(name, `{"password":"from secrets manager"}`, nil)
	shared.aws.Set("/"+name, `{"password":"from parameter store"}`)
	shared.google.Set(name, `{"password":"from google"}`, nil)
	shared.azure.Set(name, `{"password":"from azure"}`, nil)
	aws := `aws: {service: %s, region: ` + ssmtest.Region + `, auth: {secretRef: {accessKeyIDSecretRef: {name: credentials, key: id}, secretAccessKeySecretRef: {name: credentials, key: key}}}}`
	for kind, test := range map[string]struct{ provider, key, want string }{
		"secretsmanager": {fmt.Sprintf(aws, "SecretsManager"), name, "from secrets manager"},
		"parameterstore": {fmt.Sprintf(aws, "ParameterStore"), "/" + name, "from parameter store"},
		"google":         {`gcpsm: {projectID: ` + cloudtest.Project + `, auth: {secretRef: {secretAccessKeySecretRef: {name: credentials, key: google}}}}`, name, "from google"},
		"azure": {fmt.Sprintf(`azurekv: {vaultUrl: "%s", tenantId: %s, environmentType: AzureStackCloud, customCloudConfig: {activeDirectoryEndpoint: "%[1]s", keyVaultEndpoint: "%[3]s"},
    authSecretRef: {clientId: {name: credentials, key: client}, clientSecret: {name: credentials, key: secret}}}`, shared.azure.URL, cloudtest.Tenant, cloudtest.Resource), name, "from azure"},
	} {
		w.apply(`
kind: SecretStore
metadata: {name: ` + kind + `}
spec: {provider: {` + test.provider + `}}`)
		w.apply(`
kind: ExternalSecret
metadata: {name: ` + kind + `}
spec:
  secretStoreRef: {name: ` + kind + `}
  data: [{secretKey: password, remoteRef: {key: ` + test.key + `, property: password}}]
  dataFrom: [{find: {name: {regexp: "` + name + `$"}}, rewrite: [{regexp: {source: ".*", target: all}}]}]`)
		w.has(kind, map[string]string{"all": `{"password":"` + test.want + `"}`, "password": test.want})
		w.ready(kind, externalv1.ReasonStoreValid)
	}
}

// ready waits for the reason of a SecretStore.
func (w *world) ready(name, reason string) {
	w.Helper()
	w.eventually("store "+name+" is "+reason, func() string {
		var s externalv1.SecretStore
		if err := w.Get(w.Context(), types.NamespacedName{Namespace: w.namespace, Name: name}, &s); err != nil {
			return err.Error()
		}
		c := externalv1.Find(s.Status.Conditions, externalv1.ConditionReady)
		if c.Reason != reason || s.Status.Capabilities != externalv1.ReadOnly {
			return c.Reason + ": " + c.Message
		}
		return ""
	})
}

// A tenant's store uses nothing of other namespaces, and only the stores that an administrator opens to it.
func TestNamespacesAreApart(t *testing.T) {
	w, other := newWorld(t), newWorld(t)
	w.put("shop", map[string]any{"password": "hunter2"})
	cluster := func(name, conditions, reference string) {
		w.apply(fmt.Sprintf(`
kind: ClusterSecretStore
metadata: {name: %s-NS}
spec:
  conditions: %s
  provider: {vault: {server: "%s", path: secret, auth: {tokenSecretRef: {name: credentials, key: token%s}}}}`, name, conditions, shared.vault.URL, reference))
	}
	cluster("named", "[{namespaces: [NS]}]", ", namespace: NS")
	cluster("closed", "[{namespaces: [elsewhere]}, {namespaceRegexes: [\"^x-\"]}, {namespaceSelector: {matchLabels: {team: none}}}]", ", namespace: NS")
	cluster("labels", "[{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NS}}}]", ", namespace: NS")
	cluster("referent", "[]", "")
	w.apply(fmt.Sprintf(`
kind: SecretStore
metadata: {name: stealing}
spec: {provider: {vault: {server: "%s", path: secret, auth: {tokenSecretRef: {name: credentials, key: token, namespace: %s}}}}}`, shared.vault.URL, other.namespace))
	w.apply(`
kind: SecretStore
metadata: {name: inside}
spec: {provider: {vault: {server: "http://127.0.0.1:2379", path: secret, auth: {tokenSecretRef: {name: credentials, key: token}}}}}`)
	w.apply(`
kind: SecretStore
metadata: {name: clear}
spec: {provider: {vault: {server: "http://vault.example.com", path: secret, auth: {tokenSecretRef: {name: credentials, key: token}}}}}`)
	w.apply(`
kind: SecretStore
metadata: {name: unknown}
spec: {provider: {doppler: {auth: {secretRef: {dopplerToken: {name: credentials}}}}}}`)
	for _, test := range []struct{ store, kind, reason, message string }{
		{"named-NS", "ClusterSecretStore", externalv1.ReasonSecretSynced, ""},
		{"labels-NS", "ClusterSecretStore", externalv1.ReasonSecretSynced, ""},
		{"referent-NS", "ClusterSecretStore", externalv1.ReasonSecretSynced, ""},
		{"closed-NS", "ClusterSecretStore", externalv1.ReasonSecretSyncedError, "does not allow the namespace"},
		{"stealing", "SecretStore", externalv1.ReasonSecretSyncedError, "a SecretStore uses only objects of its own namespace"},
		{"inside", "SecretStore", externalv1.ReasonSecretSyncedError, "in a private network"},
		{"clear", "SecretStore", externalv1.ReasonSecretSyncedError, "credentials are not sent in clear text"},
		{"unknown", "SecretStore", externalv1.ReasonSecretSyncedError, "names a provider that Yuba does not read"},
		{"absent", "SecretStore", externalv1.ReasonSecretSyncedError, "SecretStore absent does not exist"},
	} {
		name := "uses-" + strings.TrimSuffix(test.store, "-NS")
		w.apply(`
kind: ExternalSecret
metadata: {name: ` + name + `}
spec:
  secretStoreRef: {name: ` + test.store + `, kind: ` + test.kind + `}
  dataFrom: [{extract: {key: NS/shop}}]`)
		w.await(name, test.reason, test.message)
	}
	other.apply(`
kind: ExternalSecret
metadata: {name: foreign}
spec:
  secretStoreRef: {name: named-` + w.namespace + `, kind: ClusterSecretStore}
  dataFrom: [{extract: {key: ` + w.namespace + `/shop}}]`)
	other.await("foreign", externalv1.ReasonSecretSyncedError, "does not allow the namespace "+other.namespace)
	w.ready("stealing", externalv1.ReasonInvalidProviderConfig)
	w.ready("inside", externalv1.ReasonValidationFailed)
}

func TestManifestsOfOlderVersionsWork(t *testing.T) {
	w := newWorld(t)
	w.put("shop", map[string]any{"password": "hunter2"})
	w.apply(`
apiVersion: external-secrets.io/v1beta1
kind: ExternalSecret
metadata: {name: older}
spec:
  secretStoreRef: {name: vault, kind: SecretStore}
  target: {name: renamed}
  data: [{secretKey: password, remoteRef: {key: NS/shop, property: password}}]`)
	w.has("renamed", map[string]string{"password": "hunter2"})
	// Fields of providers that Yuba does not read are kept.
	w.apply(`
kind: SecretStore
metadata: {name: unknown}
spec: {provider: {doppler: {project: shop}}}`)
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(externalv1.GroupVersion.WithKind("SecretStore"))
	w.ready("unknown", externalv1.ReasonInvalidProviderConfig)
	if err := w.Get(t.Context(), types.NamespacedName{Namespace: w.namespace, Name: "unknown"}, u); err != nil {
		t.Fatal(err)
	}
	if project, _, _ := unstructured.NestedString(u.Object, "spec", "provider", "doppler", "project"); project != "shop" {
		t.Errorf("the project is %q", project)
	}
	// Another target replaces the first one.
	w.apply(`
kind: ExternalSecret
metadata: {name: older}
spec:
  secretStoreRef: {name: vault, kind: SecretStore}
  target: {name: again}
  data: [{secretKey: password, remoteRef: {key: NS/shop, property: password}}]`)
	w.has("again", map[string]string{"password": "hunter2"})
	w.has("renamed", nil)
}

// The operator may be installed while the server runs: then nothing is written.
func TestKindsOfTheOperatorAreLeftAlone(t *testing.T) {
	w := newWorld(t)
	w.ready("vault", externalv1.ReasonStoreValid)
	w.put("shop", map[string]any{"password": "hunter2"})
	shared.theirs.Store(true)
	t.Cleanup(func() { shared.theirs.Store(false) })
	w.target("shop", "deletionPolicy: Retain")
	before := shared.asked.Load()
	const changes = 5
	for i := range changes { // each is a reconcile
		es := w.object("shop")
		es.Annotations = map[string]string{"i": fmt.Sprint(i)}
		if err := w.Update(t.Context(), es); err != nil {
			t.Fatal(err)
		}
		w.eventually("the controller asks whose kinds they are", func() string {
			if n := shared.asked.Load(); n <= before+int64(i) {
				return fmt.Sprint(n)
			}
			return ""
		})
	}
	if es := w.object("shop"); len(es.Status.Conditions) > 0 {
		t.Errorf("the status has %v", es.Status.Conditions)
	}
	w.has("shop", nil)
	shared.theirs.Store(false)
	w.target("shop", "deletionPolicy: Merge")
	w.has("shop", map[string]string{"password": "hunter2"})
}

// A store of another program is not touched.
func TestStoresOfOtherControllersAreLeftAlone(t *testing.T) {
	w := newWorld(t)
	w.put("shop", map[string]any{"password": "hunter2"})
	w.apply(`
kind: SecretStore
metadata: {name: theirs}
spec: {controller: eso, provider: {vault: {server: "` + shared.vault.URL + `", path: secret, auth: {tokenSecretRef: {name: credentials, key: token}}}}}`)
	for _, store := range []string{"theirs", "vault"} {
		w.apply(`
kind: ExternalSecret
metadata: {name: by-` + store + `}
spec: {secretStoreRef: {name: ` + store + `}, dataFrom: [{extract: {key: NS/shop}}]}`)
	}
	w.await("by-vault", externalv1.ReasonSecretSynced, "")
	var es externalv1.ExternalSecret
	if err := w.Get(t.Context(), types.NamespacedName{Namespace: w.namespace, Name: "by-theirs"}, &es); err != nil || len(es.Status.Conditions) > 0 {
		t.Errorf("conditions %v, %v", es.Status.Conditions, err)
	}
	var list corev1.SecretList
	if err := w.List(t.Context(), &list, client.InNamespace(w.namespace)); err != nil || len(list.Items) != 2 {
		t.Errorf("%d Secrets, %v", len(list.Items), err)
	}
}
