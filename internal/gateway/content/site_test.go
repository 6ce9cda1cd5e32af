// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/gateway/parcel"
	"github.com/yuba-dev/yuba/internal/home"
	"github.com/yuba-dev/yuba/internal/policy/audit"
	"github.com/yuba-dev/yuba/internal/policy/ledger"
	"github.com/yuba-dev/yuba/internal/runs/executor"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/tofu/state"
	"github.com/yuba-dev/yuba/internal/tofu/state/reshape"
)

// imported has the stacks whose content was imported.
var imported sync.Map

// mounted is what the API serves below the content's path once a test asks for it.
var mounted atomic.Pointer[http.ServeMux]

func TestMain(m *testing.M) {
	apitest.Main(m, func(o *home.Options) {
		o.Mount = func(*rest.Config) (map[string]http.Handler, error) {
			return map[string]http.Handler{content.PathPrefix + "/": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mounted.Load().ServeHTTP(w, r)
			})}, nil
		}
	})
}

// maxArchive is small, so that a test can exceed it.
const maxArchive = 4096

// approvers are the last ones by stack, and comments what they said.
var approvers, comments sync.Map

// stores are those of this test binary's content.
var stores struct {
	once   sync.Once
	err    error
	blobs  *blob.Store
	states *state.Store
	runs   *executor.Executor
	client client.Client
}

// site is the content of a namespace of the test's own with one stack in it.
type site struct {
	t         *testing.T
	namespace string
	stack     *infrav1.Terraform
	blobs     *blob.Store
	states    *state.Store
	runs      *executor.Executor
}

func newSite(t *testing.T, change ...func(*infrav1.Terraform)) *site {
	t.Helper()
	stores.once.Do(func() { stores.err = openStores(t) })
	if stores.err != nil {
		t.Fatal(stores.err)
	}
	s := &site{t: t, namespace: apitest.Namespace(t), blobs: stores.blobs, states: stores.states, runs: stores.runs}
	s.stack = &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "vpc"},
		Spec: infrav1.TerraformSpec{Interval: metav1.Duration{Duration: time.Hour}, Inline: map[string]string{"main.tf": ""}}}
	for _, c := range change {
		c(s.stack)
	}
	if err := apitest.Client(t).Create(t.Context(), s.stack); err != nil {
		t.Fatal(err)
	}
	return s
}

// openStores makes the stores and the handler; they last as long as the API does.
func openStores(t *testing.T) error {
	dir, err := os.MkdirTemp(filepath.Dir(apitest.API(t).Kubeconfig()), "content-")
	if err != nil {
		return err
	}
	key, err := blob.LoadOrCreateKey(filepath.Join(dir, "blob.agekey"))
	if err != nil {
		return err
	}
	// A test's context would end before the others do.
	if stores.blobs, err = blob.Open(t.Context(), "file://"+dir+"/blobs", key); err != nil {
		return err
	}
	stores.client = apitest.Client(t)
	stores.states = state.New(stores.client, stores.blobs)
	stores.runs, err = executor.New(executor.Options{Blobs: stores.blobs, States: stores.states, LiveDir: dir + "/live", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	h := &content.Handler{Client: apitest.Client(t), Reader: apitest.Client(t), Runs: stores.runs, States: stores.states, Artifacts: stores.blobs,
		MaxArchive: maxArchive, ArchiveURL: "https://yuba.test", StoreID: "this", Log: slog.New(slog.DiscardHandler), Version: "test"}
	h.SigningKey = func() (ed25519.PrivateKey, error) {
		return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize)), nil
	}
	h.Operate = operate
	h.Parcels = &parcel.Store{Blobs: stores.blobs, States: stores.states, MaxArtifact: maxArchive, Version: "test"}
	h.Imported = func(stack run.Stack) { imported.Store(stack, true) }
	h.Why = func(_ context.Context, name types.NamespacedName) (run.Why, error) {
		return run.Why{Namespace: name.Namespace, Name: name.Name}, nil
	}
	h.Grant = func(rec run.Record) run.ShellGrant {
		return run.ShellGrant{ID: rec.Spec.ID, Token: rec.Token, Host: "here"}
	}
	h.Approve = func(_ context.Context, name types.NamespacedName, who audit.Who, plan, bound, comment string) (infrav1.PlanApproval, error) {
		approvers.Store(name, who)
		comments.Store(name, comment)
		if plan != "plan-1" || bound != "sha256:seen" {
			return infrav1.PlanApproval{}, &run.RefusedError{Message: "it is not pending"}
		}
		return infrav1.PlanApproval{User: who.User, Bound: bound}, nil
	}
	h.Refactorings = glimpse{&reshape.Desk{States: stores.states, Blobs: stores.blobs, Version: "test", Log: h.Log}}
	h.AuditLog = &ledger.Ledger{Store: stores.blobs}
	mounted.Store(h.ServeMux())
	return nil
}

// as is a client with a role in the namespace; "" is an administrator of everything.
func (s *site) as(role string) *content.Client {
	s.t.Helper()
	config := rest.CopyConfig(apitest.API(s.t).RESTConfig())
	if role != "" {
		user := role + "-of-" + s.namespace
		binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, GenerateName: role + "-"},
			Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}}
		if err := apitest.Client(s.t).Create(s.t.Context(), binding); err != nil {
			s.t.Fatal(err)
		}
		config.Impersonate = rest.ImpersonationConfig{UserName: user}
	}
	c, err := content.NewClient(config)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

func (s *site) id() run.Stack {
	return run.Stack{Namespace: s.namespace, Name: "vpc", UID: string(s.stack.UID)}
}

func (s *site) key() state.Key {
	return state.Key{Namespace: s.namespace, Workspace: "default", Suffix: "vpc", Stack: "vpc"}
}

// begin puts a run in hand.
func (s *site) begin(id string, change ...func(*run.Record)) run.Record {
	s.t.Helper()
	rec := run.Record{Token: "token", Created: time.Now(), Announced: true,
		Spec: run.Spec{ID: id, Stack: s.id(), Operation: run.OperationPlan, Describe: true, Limits: run.DefaultLimits(), LockFile: []byte("lock-file"),
			Variables: map[string]run.Variable{"password": {Value: json.RawMessage(`"s3cret"`)}}, Env: []run.EnvVar{{Name: "KEY", Value: "s3cret"}}}}
	for _, c := range change {
		c(&rec)
	}
	if err := s.runs.Prepare(s.t.Context(), rec); err != nil {
		s.t.Fatal(err)
	}
	if err := s.runs.Start(s.t.Context(), rec); err != nil {
		s.t.Fatal(err)
	}
	return rec
}

// runner sends what a runner would about a run.
func (s *site) runner(id, method, part string, body []byte, offset int) {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), method, run.PathPrefix+"/runs/"+id+part, bytes.NewReader(body))
	r.Header.Set(run.HeaderProtocol, fmt.Sprint(run.ProtocolVersion))
	r.Header.Set("Authorization", "Bearer token")
	r.Header.Set(run.HeaderOffset, fmt.Sprint(offset))
	answer := httptest.NewRecorder()
	s.runs.Handler().ServeHTTP(answer, r)
	if answer.Code >= 300 {
		s.t.Fatalf("%s %s: %d %s", method, part, answer.Code, answer.Body)
	}
}

func (s *site) end(id string, result run.Result) {
	s.t.Helper()
	data, err := json.Marshal(result)
	if err != nil {
		s.t.Fatal(err)
	}
	s.runner(id, "POST", "/result", data, 0)
}

// status changes the stack's status.
func (s *site) status(change func(*infrav1.TerraformStatus)) {
	s.t.Helper()
	change(&s.stack.Status)
	if err := apitest.Client(s.t).Status().Update(s.t.Context(), s.stack); err != nil {
		s.t.Fatal(err)
	}
}

// write stores a state as a run would.
func (s *site) write(serial int, previous state.Mark) state.Version {
	s.t.Helper()
	data := fmt.Sprintf(`{"version":4,"terraform_version":"1.12.0","serial":%d,"lineage":"l-1","outputs":{"id":{"value":"vpc-%d","type":"string"}},"resources":[]}`, serial, serial)
	v, err := s.states.Write(s.t.Context(), s.key(), state.WriteRequest{Data: []byte(data), Previous: previous, RunID: fmt.Sprint("run-", serial)})
	if err != nil {
		s.t.Fatal(err)
	}
	return v
}

func packed(t *testing.T, files map[string]string) *bytes.Reader {
	t.Helper()
	var b bytes.Buffer
	if _, err := archive.PackInline(files, &b); err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(b.Bytes())
}

func readAll(t *testing.T, r io.ReadCloser) string {
	t.Helper()
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// eventually asks until the answer is right; roles and bindings take a moment to be heard of.
func eventually(t *testing.T, ask func() error) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.Now().Add(20 * time.Second)
	for err := ask(); err != nil; err = ask() {
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		<-tick.C
	}
}
