// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package external_test

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	externalv1 "github.com/yuba-dev/yuba/api/external/v1"
	"github.com/yuba-dev/yuba/internal/secrets/external/turns"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// Stores of many namespaces that never answer delay nobody else for as long as they take: neither the first time, nor
// when their objects change again and again.
func TestSlowStoresOfManyNamespacesDelayNobodyElse(t *testing.T) {
	good := newWorld(t)
	good.put("shop", map[string]any{"user": "ann"})
	const namespaces = turns.Places // twice as many as fill the places with their shares
	var hostile []*world
	for range namespaces {
		w := &world{T: t, Client: good.Client, namespace: apitest.Namespace(t)}
		w.secret("credentials", map[string]string{"token": "none"})
		w.apply(`
kind: SecretStore
metadata: {name: slow}
spec: {provider: {vault: {server: "` + shared.slow.URL + `", path: secret, auth: {tokenSecretRef: {name: credentials, key: token}}}}}`)
		hostile = append(hostile, w)
	}
	change := func(label string) {
		for _, w := range hostile {
			for n := range 2 * turns.Share {
				w.apply(fmt.Sprintf(`
kind: ExternalSecret
metadata: {name: slow%d, labels: {change: %s}}
spec: {secretStoreRef: {name: slow}, dataFrom: [{extract: {key: shop}}]}`, n, label))
			}
		}
	}
	for i, label := range []string{"first", "second"} {
		before := hostile[0].failures()
		change(label)
		good.eventually("the slow store holds requests", func() string {
			if n := shared.holding.Load(); n < turns.Places {
				return fmt.Sprintf("%d", n)
			}
			return ""
		})
		name := fmt.Sprintf("good%d", i)
		good.apply(`
kind: ExternalSecret
metadata: {name: ` + name + `}
spec: {secretStoreRef: {name: vault}, dataFrom: [{extract: {key: NS/shop}}]}`)
		good.has(name, map[string]string{"user": "ann"})
		if i == 0 && hostile[0].failures() != before {
			t.Errorf("%s was written only after the slow stores' time had passed", name)
		}
		if shared.holding.Load() == 0 {
			t.Errorf("%s: the slow store holds no request any more, so this proves nothing", label)
		}
	}
	for _, w := range hostile {
		w.await("slow0", externalv1.ReasonSecretSyncedError, "a refresh may last "+patience.String())
		if err := w.DeleteAllOf(t.Context(), &externalv1.ExternalSecret{}, client.InNamespace(w.namespace)); err != nil {
			t.Error(err)
		}
	}
}

// Namespaces that name a shared store beside stores of their own that never answer do not use up the shared one.
func TestSlowNamespacesLeaveASharedStoreToOthers(t *testing.T) {
	good := newWorld(t)
	good.put("shop", map[string]any{"user": "ann"})
	corp := "corp-" + good.namespace
	good.apply(`
kind: ClusterSecretStore
metadata: {name: ` + corp + `}
spec: {provider: {vault: {server: "` + shared.vault.URL + `", path: secret, auth: {tokenSecretRef: {name: credentials, key: token, namespace: NS}}}}}`)
	t.Cleanup(func() {
		if err := good.Delete(context.Background(), &externalv1.ClusterSecretStore{ObjectMeta: metav1.ObjectMeta{Name: corp}}); err != nil {
			t.Error(err)
		}
	})
	var hostile []*world
	before := shared.holding.Load()
	for range turns.StoreShare {
		w := &world{T: t, Client: good.Client, namespace: apitest.Namespace(t)}
		w.secret("credentials", map[string]string{"token": "none"})
		w.apply(`
kind: SecretStore
metadata: {name: slow}
spec: {provider: {vault: {server: "` + shared.slow.URL + `", path: secret, auth: {tokenSecretRef: {name: credentials, key: token}}}}}`)
		w.apply(`
kind: ExternalSecret
metadata: {name: mixed}
spec:
  dataFrom:
  - {extract: {key: ` + good.namespace + `/shop}, sourceRef: {storeRef: {name: ` + corp + `, kind: ClusterSecretStore}}}
  - {extract: {key: shop}, sourceRef: {storeRef: {name: slow}}}`)
		hostile = append(hostile, w)
	}
	good.eventually("each namespace's check and refresh wait for the slow store", func() string {
		if n := shared.holding.Load() - before; n < 2*turns.StoreShare {
			return fmt.Sprintf("%d", n)
		}
		return ""
	})
	good.apply(`
kind: ExternalSecret
metadata: {name: good}
spec: {secretStoreRef: {name: ` + corp + `, kind: ClusterSecretStore}, dataFrom: [{extract: {key: NS/shop}}]}`)
	good.has("good", map[string]string{"user": "ann"})
	for _, w := range hostile {
		if w.failures() > 0 {
			t.Errorf("good was written only after a request of %s had ended", w.namespace)
		}
	}
	for _, w := range hostile {
		w.await("mixed", externalv1.ReasonSecretSyncedError, "a refresh may last "+patience.String())
		if err := w.DeleteAllOf(t.Context(), &externalv1.ExternalSecret{}, client.InNamespace(w.namespace)); err != nil {
			t.Error(err)
		}
	}
}

// failures are how many ExternalSecrets of the namespace have failed.
func (w *world) failures() (n int) {
	w.Helper()
	var all externalv1.ExternalSecretList
	if err := w.List(w.Context(), &all, client.InNamespace(w.namespace)); err != nil {
		w.Fatal(err)
	}
	for _, es := range all.Items {
		if externalv1.Find(es.Status.Conditions, externalv1.ConditionReady).Reason == externalv1.ReasonSecretSyncedError {
			n++
		}
	}
	return n
}
