// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package external_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	externalv1 "github.com/yuba-dev/yuba/api/external/v1"
	"github.com/yuba-dev/yuba/internal/secrets/external"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/cloudtest"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
	"github.com/yuba-dev/yuba/internal/testkit/ssmtest"
	"github.com/yuba-dev/yuba/internal/testkit/vaulttest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// shared are the controllers and stores of this test binary.
var shared struct {
	once   sync.Once
	err    error
	vault  *vaulttest.Server
	aws    *ssmtest.Server
	google *cloudtest.Google
	azure  *cloudtest.Azure
	// slow never answers. holding is how many requests it has.
	slow    *httptest.Server
	holding atomic.Int64
	// theirs: another program works on the kinds. asked counts the questions about it.
	theirs atomic.Bool
	asked  atomic.Int64
}

func theirs(context.Context) (string, error) {
	shared.asked.Add(1)
	if shared.theirs.Load() {
		return "the External Secrets Operator installed the kinds", nil
	}
	return "", nil
}

// patience bounds refreshes. The fixture of an API and stores on a busy machine needs a part of it.
const patience = 8 * time.Second

// lasting makes servers last as long as the test binary, which several tests share. They end with it.
type lasting struct{ testing.TB }

// Cleanup keeps what refers to the servers: the pipe to Vault would be closed with the last reference.
func (lasting) Cleanup(end func()) { kept = append(kept, end) }

var kept []func()

// world is a namespace with credentials of all stores.
type world struct {
	*testing.T
	client.Client
	namespace string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	shared.once.Do(func() { shared.err = start(lasting{t}) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	w := &world{T: t, Client: apitest.Client(t), namespace: apitest.Namespace(t)}
	w.secret("credentials", map[string]string{"token": shared.vault.Token, "id": ssmtest.AccessKey, "key": ssmtest.SecretKey,
		"google": string(shared.google.Key), "client": cloudtest.ClientID, "secret": cloudtest.ClientSecret})
	w.apply(w.store())
	return w
}

func start(t testing.TB) error {
	shared.vault, shared.aws = vaulttest.New(t), ssmtest.New(t)
	shared.google, shared.azure = cloudtest.NewGoogle(t), cloudtest.NewAzure(t)
	shared.slow = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		shared.holding.Add(1)
		defer shared.holding.Add(-1)
		<-r.Context().Done()
	}))
	t.Cleanup(shared.slow.Close)
	var reachable []string
	for _, address := range []string{shared.slow.URL, shared.vault.URL, shared.google.URL, shared.azure.URL} {
		u, err := url.Parse(address)
		if err != nil {
			return err
		}
		reachable = append(reachable, u.Host)
	}
	ctrl.SetLogger(logr.Discard())
	mgr, err := ctrl.NewManager(apitest.API(t).RESTConfig(), ctrl.Options{Scheme: kubetest.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"},
		Cache: cache.Options{DefaultTransform: cache.TransformStripManagedFields()}})
	if err != nil {
		return err
	}
	r := &external.Reconciler{Client: mgr.GetClient(), Direct: apitest.Client(t), Reachable: reachable, Patience: patience, Theirs: theirs, Events: mgr.GetEventRecorder("yuba"), Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Endpoints: external.Endpoints{SecretsManager: shared.aws.URL, ParameterStore: shared.aws.URL, Google: shared.google.URL}}
	ctx := context.Background() // not that of one test
	if err := r.SetupWithManager(ctx, mgr); err != nil {
		return err
	}
	go mgr.Start(ctx) //nolint:errcheck // it ends with the test binary
	return nil
}

// store is a SecretStore for Vault.
func (w *world) store() string {
	return fmt.Sprintf(`
kind: SecretStore
metadata: {name: vault}
spec: {provider: {vault: {server: "%s", path: secret, auth: {tokenSecretRef: {name: credentials, key: token}}}}}`, shared.vault.URL)
}

// put writes a secret to Vault, in a folder of the test.
func (w *world) put(key string, data map[string]any) {
	w.Helper()
	shared.vault.Do(w, http.MethodPost, "secret/data/"+w.namespace+"/"+key, map[string]any{"data": data})
}

// drop deletes a secret of Vault.
func (w *world) drop(key string) {
	w.Helper()
	shared.vault.Do(w, http.MethodDelete, "secret/metadata/"+w.namespace+"/"+key, nil)
}

func (w *world) secret(name string, data map[string]string) {
	w.Helper()
	if err := w.Create(w.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}, StringData: data}); err != nil {
		w.Fatal(err)
	}
}

// apply creates an object of External Secrets, or replaces its spec. NS in its text is the namespace.
func (w *world) apply(text string) {
	w.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(text, "NS", w.namespace)), &u.Object); err != nil {
		w.Fatal(err)
	}
	if u.GetAPIVersion() == "" {
		u.SetAPIVersion(externalv1.GroupVersion.String())
	}
	if !strings.HasPrefix(u.GetKind(), "Cluster") {
		u.SetNamespace(w.namespace)
	}
	err := w.Client.Apply(w.Context(), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("test"), client.ForceOwnership)
	if err != nil {
		w.Fatal(err)
	}
}

// await waits for the reason and the message of an ExternalSecret.
func (w *world) await(name, reason, message string) {
	w.Helper()
	w.eventually(name+" is "+reason+": "+message, func() string {
		var es externalv1.ExternalSecret
		if err := w.Get(w.Context(), types.NamespacedName{Namespace: w.namespace, Name: name}, &es); err != nil {
			return err.Error()
		}
		c := externalv1.Find(es.Status.Conditions, externalv1.ConditionReady)
		if c.Reason != reason || !strings.Contains(c.Message, message) {
			return c.Reason + ": " + c.Message
		}
		return ""
	})
}

// has waits until a Secret has exactly these values.
func (w *world) has(name string, want map[string]string) *corev1.Secret {
	w.Helper()
	var s corev1.Secret
	w.eventually(fmt.Sprintf("Secret %s has %v", name, want), func() string {
		s = corev1.Secret{}
		err := w.Get(w.Context(), types.NamespacedName{Namespace: w.namespace, Name: name}, &s)
		if want == nil && apierrors.IsNotFound(err) {
			return ""
		}
		if err != nil {
			return err.Error()
		}
		is := map[string]string{}
		for key, value := range s.Data {
			is[key] = string(value)
		}
		if fmt.Sprint(is) != fmt.Sprint(want) {
			return fmt.Sprint(is)
		}
		return ""
	})
	return &s
}

// tells waits for an event, and checks that neither events nor statuses have a secret.
func (w *world) tells(reason, note string, secrets ...string) {
	w.Helper()
	w.eventually("an event says "+reason+": "+note, func() string {
		var list eventsv1.EventList
		if err := w.List(w.Context(), &list, client.InNamespace(w.namespace)); err != nil {
			return err.Error()
		}
		text, found := "", false
		for _, e := range list.Items {
			text += e.Type + " " + e.Reason + ": " + e.Note + "\n"
			found = found || e.Reason == reason && strings.Contains(e.Note, note)
		}
		var all externalv1.ExternalSecretList
		if err := w.List(w.Context(), &all, client.InNamespace(w.namespace)); err != nil {
			return err.Error()
		}
		for _, secret := range secrets {
			if strings.Contains(text+fmt.Sprint(all.Items), secret) {
				w.Fatalf("an event or status has the value %s:\n%s", secret, text)
			}
		}
		if !found {
			return text
		}
		return ""
	})
}

func (w *world) eventually(what string, wrong func() string) {
	w.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		is := wrong()
		if is == "" {
			return
		}
		if time.Now().After(deadline) {
			w.Fatalf("%s; but: %s", what, is)
		}
	}
}
