// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/speculative"
)

// Try is a speculative plan.
type Try = speculative.Answer

// PreviewRequest says what a speculative plan has in place of what the stack has.
type PreviewRequest struct {
	// Revision is another revision of the stack's GitRepository: a full commit, a branch, or a
	// reference that begins with refs/. Empty for the stack's own source, or an uploaded one.
	Revision string
	// From are the speculative plans whose planned outputs are in place of the published ones. The
	// same user has started them.
	From []PlanOf
	// Refactoring is a proposed refactoring whose state is in place of the current one.
	Refactoring string
	// Detailed asks for the log, the readable plan and what policies say about it.
	Detailed bool
}

// PlanOf names a speculative plan of a stack.
type PlanOf struct{ Namespace, Name, Run string }

// String returns NAMESPACE/NAME@RUN.
func (p PlanOf) String() string { return p.Namespace + "/" + p.Name + "@" + p.Run }

func parsePlanOf(text string) (p PlanOf, err error) {
	namespace, rest, _ := strings.Cut(text, "/")
	name, id, _ := strings.Cut(rest, "@")
	if namespace == "" || name == "" || id == "" {
		return p, fmt.Errorf("from=%q is not NAMESPACE/NAME@RUN", text)
	}
	return PlanOf{namespace, name, id}, nil
}

// maxFrom limits the producers of a request. A plan of a refactoring can have all its members.
const maxFrom = maxMembers

// Tries makes speculative plans. They end when nobody asks for them for a while.
type Tries interface {
	// Start plans with another version of a module, Preview with another source or with planned
	// outputs. archive is an uploaded directory; nil for none.
	Start(ctx context.Context, obj *infrav1.Terraform, module, version, by string) (Try, error)
	Preview(ctx context.Context, obj *infrav1.Terraform, p PreviewRequest, archive io.Reader, by string) (Try, error)
	// Wait returns when the plan has ended, or after a while.
	Wait(ctx context.Context, obj *infrav1.Terraform, id string) (Try, error)
	Cancel(ctx context.Context, obj *infrav1.Terraform, id string) error
	// WriteLog writes the log of a detailed plan as it grows, Document returns its readable plan once it
	// has ended. Both are for the user who started it.
	WriteLog(ctx context.Context, obj *infrav1.Terraform, id, by string, w io.Writer) error
	Document(ctx context.Context, obj *infrav1.Terraform, id, by string) ([]byte, error)
}

var errNoTries = notFound("this server does not make speculative plans")

func (h *Handler) startTry(w http.ResponseWriter, r *http.Request, obj *infrav1.Terraform) error {
	if h.Tries == nil {
		return errNoTries
	}
	query := r.URL.Query()
	t, err := h.Tries.Start(r.Context(), obj, query.Get("module"), query.Get("version"), user(r))
	if err != nil {
		return err
	}
	h.Log.Info("speculative plan started", "stack", client.ObjectKeyFromObject(obj).String(), "run", t.Run, "module", query.Get("module"), "version", query.Get("version"), "by", user(r))
	return writeJSON(w, t)
}

// startPreview starts a speculative plan. The body is an uploaded directory if the query says so.
func (h *Handler) startPreview(w http.ResponseWriter, r *http.Request, obj *infrav1.Terraform) error {
	if h.Tries == nil {
		return errNoTries
	}
	query := r.URL.Query()
	request := PreviewRequest{Revision: query.Get("revision"), Refactoring: query.Get("refactoring"), Detailed: query.Get("detailed") == yes(true)}
	if len(query["from"]) > maxFrom {
		return badRequest(fmt.Sprintf("a speculative plan can have the planned outputs of %d stacks", maxFrom))
	}
	for _, text := range query["from"] {
		from, err := parsePlanOf(text)
		if err != nil {
			return badRequest(err.Error())
		}
		request.From = append(request.From, from)
	}
	var archive io.Reader
	if query.Get("source") == "upload" {
		if archive = http.MaxBytesReader(w, r.Body, h.MaxArchive); request.Revision != "" {
			return badRequest("a speculative plan has an uploaded source or another revision, not both")
		}
	}
	t, err := h.Tries.Preview(r.Context(), obj, request, archive, user(r))
	if err != nil {
		return err
	}
	h.Log.Info("speculative plan started", "stack", client.ObjectKeyFromObject(obj).String(), "run", t.Run, "uploaded", archive != nil,
		"revision", request.Revision, "from", query["from"], "by", user(r))
	return writeJSON(w, t)
}

// preview serves a speculative plan, or a part of a detailed one.
func (h *Handler) preview(w http.ResponseWriter, r *http.Request, obj *infrav1.Terraform) error {
	query := r.URL.Query()
	switch part := query.Get("part"); {
	case h.Tries == nil:
		return errNoTries
	case part == "log":
		body := &lateHeader{ResponseWriter: w}
		err := h.Tries.WriteLog(r.Context(), obj, query.Get("run"), user(r), body)
		if err != nil && body.begun && r.Context().Err() == nil {
			panic(http.ErrAbortHandler) // the client must notice that it is incomplete
		}
		if err == nil {
			body.begin()
		}
		return err
	case part == "plan":
		document, err := h.Tries.Document(r.Context(), obj, query.Get("run"), user(r))
		if err != nil {
			return err
		}
		return sendJSON(w, document)
	case part != "":
		return badRequest(fmt.Sprintf("part=%q is neither log nor plan", part))
	}
	return h.waitForTry(w, r, obj)
}

func (h *Handler) waitForTry(w http.ResponseWriter, r *http.Request, obj *infrav1.Terraform) error {
	if h.Tries == nil {
		return errNoTries
	}
	t, err := h.Tries.Wait(r.Context(), obj, r.URL.Query().Get("run"))
	if err != nil {
		return err
	}
	return writeJSON(w, t)
}

func (h *Handler) cancelTry(w http.ResponseWriter, r *http.Request, obj *infrav1.Terraform) error {
	if h.Tries == nil {
		return errNoTries
	}
	if err := h.Tries.Cancel(r.Context(), obj, r.URL.Query().Get("run")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// StartTry starts a speculative plan with another version of a module.
func (c *Client) StartTry(ctx context.Context, namespace, name, module, version string) (Try, error) {
	return ask[Try](ctx, c, http.MethodPost, stackPath(namespace, name, "try"), parameters("module", module, "version", version), nil)
}

// WaitForTry returns a speculative plan when it has ended, or after a while.
func (c *Client) WaitForTry(ctx context.Context, namespace, name, id string) (Try, error) {
	return ask[Try](ctx, c, http.MethodGet, stackPath(namespace, name, "try"), parameters("run", id), nil)
}

// CancelTry ends a speculative plan.
func (c *Client) CancelTry(ctx context.Context, namespace, name, id string) error {
	return c.cancelSpeculative(ctx, namespace, name, "try", id)
}

// StartPreview starts a speculative plan with another source or planned outputs. archive is a packed
// directory; nil for none.
func (c *Client) StartPreview(ctx context.Context, namespace, name string, p PreviewRequest, archive io.ReadSeeker) (Try, error) {
	query := parameters("revision", p.Revision, "refactoring", p.Refactoring, "detailed", yes(p.Detailed))
	for _, from := range p.From {
		query.Add("from", from.String())
	}
	if archive != nil {
		if p.Revision != "" {
			return Try{}, errors.New("a speculative plan has an uploaded source or another revision, not both")
		}
		query.Set("source", "upload")
	}
	return ask[Try](ctx, c, http.MethodPost, stackPath(namespace, name, "preview"), query, archive)
}

// WaitForPreview returns a speculative plan when it has ended, or after a while.
func (c *Client) WaitForPreview(ctx context.Context, namespace, name, id string) (Try, error) {
	return ask[Try](ctx, c, http.MethodGet, stackPath(namespace, name, "preview"), parameters("run", id), nil)
}

// PreviewLog returns the log of a detailed speculative plan of the same user, until it ends.
func (c *Client) PreviewLog(ctx context.Context, namespace, name, id string) (io.ReadCloser, error) {
	return c.open(ctx, http.MethodGet, stackPath(namespace, name, "preview"), parameters("run", id, "part", "log"), nil)
}

// PreviewPlan returns the redacted plan of a detailed speculative plan that has ended.
func (c *Client) PreviewPlan(ctx context.Context, namespace, name, id string) ([]byte, error) {
	return c.read(ctx, stackPath(namespace, name, "preview"), parameters("run", id, "part", "plan"))
}

// CancelPreview ends a speculative plan, or forgets one that has ended.
func (c *Client) CancelPreview(ctx context.Context, namespace, name, id string) error {
	return c.cancelSpeculative(ctx, namespace, name, "preview", id)
}

func (c *Client) cancelSpeculative(ctx context.Context, namespace, name, resource, id string) error {
	response, err := c.door.ask(ctx, http.MethodDelete, stackPath(namespace, name, resource), parameters("run", id), nil)
	if err == nil {
		drop(response)
	}
	return err
}
