// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"sync/atomic"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/gateway/parcel"
	"github.com/yuba-dev/yuba/internal/kit/scope"
	"github.com/yuba-dev/yuba/internal/policy/audit"
	"github.com/yuba-dev/yuba/internal/registry/opentofu"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
	"github.com/yuba-dev/yuba/internal/tofu/state/blame"
	"github.com/yuba-dev/yuba/internal/tofu/state/reshape"
)

// Runs is the source of data about runs.
type Runs interface {
	WriteLog(ctx context.Context, stack run.Stack, id string, follow bool, w io.Writer) error
	ReadPlan(ctx context.Context, stack run.Stack, id string) ([]byte, error)
	Record(ctx context.Context, stack run.Stack, id string) (run.Record, error)
	List(ctx context.Context, stack run.Stack, limit int) ([]run.Record, error)
	InHand(stack run.Stack) (rec run.Record, canceled, ok bool)
	// Stop cancels the stack's run on a person's request; without an id the current one. It returns
	// run.ErrNotFound if there is none.
	Stop(ctx context.Context, stack run.Stack, id, by string) (run.Record, error)
}

// States is the source of data about states.
type States interface {
	Read(ctx context.Context, key state.Key, options ...state.ReadOption) (*state.Snapshot, error)
	Versions(ctx context.Context, key state.Key) iter.Seq2[state.Version, error]
	ReadVersion(ctx context.Context, key state.Key, id string) (state.Version, []byte, error)
	Unlock(ctx context.Context, key state.Key, id string) error
	HolderNow(ctx context.Context, key state.Key) (*state.LockInfo, error)
}

// Artifacts stores source archives.
type Artifacts interface {
	PutArtifact(ctx context.Context, r io.Reader, limit int64) (digest string, size int64, err error)
	OpenArtifact(ctx context.Context, digest string) (io.ReadCloser, error)
}

// Handler serves the content of one server.
type Handler struct {
	Client    client.Client
	Reader    client.Reader
	Runs      Runs
	States    States
	Artifacts Artifacts
	// MaxArchive limits a pushed archive, in bytes.
	MaxArchive int64
	// ArchiveURL is the beginning of the artifacts' URLs: the API server's address.
	ArchiveURL string
	// StoreID is the id of the blob store.
	StoreID string
	// Backup and Restore are nil if the API is not Yuba's to back up.
	Backup  func(ctx context.Context, w io.Writer) error
	Restore func(ctx context.Context, r io.Reader) error
	Server  func(ctx context.Context) ServerInfo
	Queue   func(ctx context.Context) Queue
	// KeptTools lists the versions of tools in the registry's bucket; may be nil.
	KeptTools func(ctx context.Context) ([]opentofu.Version, error)
	// Providers returns the stored providers of all stacks. RemoveProvider removes a version of a
	// provider from one scope or all, and returns what it removed.
	Providers      func(ctx context.Context) (ProviderList, error)
	RemoveProvider func(ctx context.Context, source, version, scope string) (ProviderList, error)
	// Registry serves the management API of the registry of modules and providers; nil if there is
	// none.
	Registry http.Handler
	// Why explains the current decision about a stack.
	Why     func(ctx context.Context, name types.NamespacedName) (run.Why, error)
	Figures func(ctx context.Context) Figures
	// Usage knows who uses which modules and providers, and Tries makes speculative
	// plans; may be nil.
	Usage Usage
	Tries Tries
	// Refactorings changes several states as one operation; nil if this server does not.
	Refactorings Refactorings
	// Blame finds the versions of a state that changed a value; nil if this server does not.
	Blame func(ctx context.Context, key state.Key, target blame.Target, all bool) (*blame.Answer, error)
	// Policies judges plans; nil if the API does not serve policies.
	Policies Policies
	// Metrics serves the metrics for Prometheus.
	Metrics http.Handler
	// Contract reads a value that a stack has published; nil if the server does not know contracts.
	Contract func(ctx context.Context, stack types.NamespacedName, contract, version, path string) (*ContractValue, error)
	// Operate starts a manual operation and returns its record. Grant returns what the person's
	// process needs to execute a shell that has started. Grant is nil if shells are not allowed,
	// for the reason NoShell.
	Operate func(ctx context.Context, name types.NamespacedName, r run.Request) (run.Record, error)
	Grant   func(rec run.Record) run.ShellGrant
	NoShell string
	// Approve records a person's approval of the pending plan, with the comment that they gave; nil if
	// policies judge no plans here.
	// AuditLog has the records of what policies decided; nil if there is none.
	Approve  func(ctx context.Context, name types.NamespacedName, who audit.Who, plan, bound, comment string) (infrav1.PlanApproval, error)
	AuditLog AuditLog
	// Applications knows the stacks of instances; nil if the server has no application kinds.
	Applications Applications
	// WebLink returns the URL of a link that logs a user in to the page once; nil if there is no page.
	WebLink func(user authenticationv1.UserInfo) (string, error)
	// ContinueAudit records in the audit log of a stack from another home where its earlier records are;
	// nil if there is no log.
	ContinueAudit func(ctx context.Context, obj *infrav1.Terraform, who audit.Who, origin audit.Origin) error
	// Parcels exports and imports the content of stacks. Imported is called after an import.
	Parcels  *parcel.Store
	Imported func(stack run.Stack)
	// SigningKey is the key that signs archives; nil if this server signs none.
	SigningKey func() (ed25519.PrivateKey, error)
	// Holder names this server in locks.
	Holder  string
	Version string
	Log     *slog.Logger

	// platformReaders counts who reads the progress of platforms.
	platformReaders atomic.Int32
}

// ServeMux returns the routes, all below PathPrefix.
func (h *Handler) ServeMux() *http.ServeMux {
	mux := http.NewServeMux()
	const namespace = PathPrefix + "/namespaces/{namespace}"
	const stack = namespace + "/terraforms/{name}"
	// An instance of an application kind. More specific patterns win.
	const instance = namespace + "/{resource}/{name}"
	const artifact = PathPrefix + "/namespaces/{namespace}/externalartifacts/{name}"
	for pattern, serve := range map[string]func(http.ResponseWriter, *http.Request) error{
		"GET " + stack + "/log":                           h.stack(h.log),
		"GET " + stack + "/plan":                          h.stack(h.plan),
		"GET " + stack + "/runs":                          h.stack(h.runs),
		"GET " + stack + "/why":                           h.stack(h.why),
		"GET " + stack + "/facts":                         h.stack(h.facts),
		"GET " + stack + "/verdict":                       h.stack(h.verdict),
		"GET " + stack + "/state":                         h.stack(h.state),
		"GET " + stack + "/versions":                      h.stack(h.versions),
		"GET " + stack + "/outputs":                       h.stack(h.outputs),
		"GET " + stack + "/contract":                      h.contract,
		"POST " + stack + "/rollback":                     h.stack(h.rollback),
		"POST " + stack + "/change":                       h.stack(h.change),
		"POST " + stack + "/shell":                        h.stack(h.shell),
		"POST " + stack + "/unlock":                       h.stack(h.unlock),
		"GET " + stack + "/export":                        h.stack(h.export),
		"POST " + stack + "/import":                       h.stack(h.takeParcel),
		"GET " + stack + "/signature":                     h.stack(h.signer),
		"POST " + stack + "/signature":                    h.stack(h.sign),
		"POST " + stack + "/cancel":                       h.stack(h.cancel),
		"POST " + stack + "/approve":                      h.stack(h.approve),
		"POST " + stack + "/try":                          h.stack(h.startTry),
		"GET " + stack + "/try":                           h.stack(h.waitForTry),
		"DELETE " + stack + "/try":                        h.stack(h.cancelTry),
		"POST " + stack + "/preview":                      h.stack(h.startPreview),
		"GET " + stack + "/preview":                       h.stack(h.preview),
		"DELETE " + stack + "/preview":                    h.stack(h.cancelTry),
		"GET " + namespace + "/refactorings":              h.refactorings,
		"POST " + namespace + "/refactorings":             h.proposeRefactoring,
		"GET " + namespace + "/refactorings/{id}":         h.refactoring,
		"POST " + namespace + "/refactorings/{id}/apply":  h.applyRefactoring,
		"GET " + instance + "/plan":                       h.instance(h.plan),
		"GET " + instance + "/why":                        h.instance(h.why),
		"POST " + instance + "/approve":                   h.approveInstance,
		"POST " + artifact + "/archive":                   h.takeArchive,
		"GET " + namespace + "/platforms/{name}/logs":     h.platformLogs,
		"GET " + namespace + "/platforms/{name}/events":   h.platformEvents,
		"GET " + namespace + "/deployments/{name}/logs":   h.platformLogs, // as the provisioner that Yuba replaces names it
		"GET " + namespace + "/deployments/{name}/events": h.platformEvents,
		"GET " + PathPrefix + "/backup":                   h.backup,
		"POST " + PathPrefix + "/restore":                 h.restore,
		"GET " + PathPrefix:                               discover,
		"POST " + PathPrefix + "/weblinks":                h.webLink,
		"GET " + PathPrefix + "/usage":                    h.usersOf,
		"GET " + namespace + "/usage":                     h.usersOf,
		"POST " + PathPrefix + "/policytrials":            h.tryPolicy,
		"POST " + namespace + "/policytrials":             h.tryPolicy,
		"GET " + PathPrefix + "/audit":                    h.auditLog,
		"GET " + namespace + "/audit":                     h.auditLog,
		"GET " + PathPrefix + "/outdated":                 h.outdated,
		"GET " + namespace + "/outdated":                  h.outdated,
		"GET " + PathPrefix + "/server":                   h.server,
		"GET " + PathPrefix + "/queue":                    h.queue,
		"GET " + PathPrefix + "/figures":                  h.figures,
		"GET " + PathPrefix + "/providerstore":            h.providers,
		"GET " + PathPrefix + "/metrics":                  h.metrics,
		"DELETE " + PathPrefix + "/providerstore":         h.removeProvider,
	} {
		mux.HandleFunc(pattern, h.answer(serve))
	}
	if h.Registry != nil {
		mux.HandleFunc("GET "+PathPrefix+"/modules/{registry}", h.answer(h.countUsers))
		for _, resource := range registryResources {
			mux.Handle(PathPrefix+"/"+resource, h.Registry)
			mux.Handle(PathPrefix+"/"+resource+"/", h.Registry)
		}
	}
	for plural := range archivedKinds {
		mux.HandleFunc("GET "+PathPrefix+"/namespaces/{namespace}/"+plural+"/{name}/archive", h.answer(h.serveArchive(plural)))
	}
	return mux
}

// answer turns the error of a handler into a response.
func (h *Handler) answer(serve func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := serve(w, r); err != nil {
			h.fail(w, r, err)
		}
	}
}

// fail responds with a metav1.Status. Errors of known kinds are returned; an unexpected one is
// logged, and returned without details.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	var (
		status   apierrors.APIStatus
		locked   *state.LockedError
		vanished *state.VanishedError
		corrupt  *state.CorruptError
		owned    *state.OwnedError
		tooLarge *http.MaxBytesError
		oversize *blob.TooLargeError
		push     *state.PushError
		byHand   *run.RefusedError
		reshaped *reshape.RefusedError
		refusal  *refusal
	)
	answer := apierrors.NewInternalError(errors.New("see the server's log")).ErrStatus
	switch {
	case errors.Is(err, context.Canceled):
		return
	case errors.As(err, &status):
		answer = status.Status()
	case errors.As(err, &refusal):
		answer = statusOf(refusal.code, refusal.reason, err)
	case errors.Is(err, run.ErrNotFound), errors.Is(err, run.ErrNoProvider), errors.Is(err, state.ErrNoVersion), errors.Is(err, reshape.ErrNotFound):
		answer = statusOf(http.StatusNotFound, metav1.StatusReasonNotFound, err)
	case errors.As(err, &byHand) && byHand.Forbidden, errors.As(err, &owned):
		answer = statusOf(http.StatusForbidden, metav1.StatusReasonForbidden, err)
	case errors.As(err, &locked), errors.As(err, &vanished), errors.As(err, &corrupt), errors.As(err, &push), errors.As(err, &byHand), errors.As(err, &reshaped):
		answer = statusOf(http.StatusConflict, metav1.StatusReasonConflict, err)
	case errors.As(err, &tooLarge), errors.As(err, &oversize):
		answer = statusOf(http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge, err)
	default:
		h.Log.Error("serving content failed", "request", r.Method+" "+r.URL.Path, "error", err)
	}
	answer.Kind, answer.APIVersion = "Status", "v1"
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(answer.Code))
	json.NewEncoder(w).Encode(answer) //nolint:errcheck // the client is gone
}

func statusOf(code int32, reason metav1.StatusReason, err error) metav1.Status {
	return metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: err.Error()}
}

// refusal is an error that the client has caused.
type refusal struct {
	code    int32
	reason  metav1.StatusReason
	message string
}

func (e *refusal) Error() string { return e.message }

func badRequest(message string) error {
	return &refusal{http.StatusBadRequest, metav1.StatusReasonBadRequest, message}
}

func notFound(message string) error {
	return &refusal{http.StatusNotFound, metav1.StatusReasonNotFound, message}
}

// stack passes the stack in the path to a handler.
func (h *Handler) stack(serve func(http.ResponseWriter, *http.Request, *infrav1.Terraform) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		var obj infrav1.Terraform
		key := types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
		if err := h.Reader.Get(r.Context(), key, &obj); err != nil {
			if apierrors.IsNotFound(err) {
				return apierrors.NewNotFound(schema.GroupResource{Group: infrav1.GroupVersion.Group, Resource: "terraforms"}, key.String())
			}
			return err
		}
		return serve(w, r, &obj)
	}
}

func keyOf(obj *infrav1.Terraform) state.Key {
	key := state.KeyOfStack(obj)
	key.Scope = scope.Of(obj.Labels)
	return key
}

func writeJSON(w http.ResponseWriter, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return sendJSON(w, data)
}

func sendJSON(w http.ResponseWriter, data []byte) error {
	w.Header().Set("Content-Type", "application/json")
	w.Write(data) //nolint:errcheck // the client is gone
	return nil
}
