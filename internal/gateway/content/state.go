// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/endpoints/request"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

// maxVersions is the maximum number of versions in one response.
const maxVersions = 500

func (h *Handler) state(w http.ResponseWriter, r *http.Request, obj *infrav1.Terraform) error {
	query := r.URL.Query()
	if text := query.Get("blame"); text != "" {
		return h.blame(w, r, obj, text)
	}
	data, err := h.readState(r.Context(), obj, query.Get("version"))
	if err != nil {
		return err
	}
	return sendJSON(w, data)
}

func (h *Handler) readState(ctx context.Context, obj *infrav1.Terraform, version string) ([]byte, error) {
	if obj.KeepsOwnState() {
		return nil, badRequest(fmt.Sprintf("%s/%s keeps its state in a custom backend, which only tofu can read:\n    yuba shell %[2]s -n %[1]s -- tofu state pull", obj.Namespace, obj.Name))
	}
	if version != "" {
		_, data, err := h.States.ReadVersion(ctx, keyOf(obj), version)
		return data, err
	}
	snapshot, err := h.States.Read(ctx, keyOf(obj))
	if err != nil {
		return nil, err
	}
	if snapshot.Data == nil {
		return nil, notFound(fmt.Sprintf("%s/%s does not have a state yet", obj.Namespace, obj.Name))
	}
	return snapshot.Data, nil
}

func (h *Handler) versions(w http.ResponseWriter, r *http.Request, obj *infrav1.Terraform) error {
	list, err := listVersions(h.States.Versions(r.Context(), keyOf(obj)), maxVersions)
	if err != nil {
		return err
	}
	return writeJSON(w, list)
}

// listVersions lists at most limit versions.
func listVersions(versions iter.Seq2[state.Version, error], limit int) (VersionList, error) {
	list := VersionList{Items: []state.Version{}}
	for version, err := range versions {
		if len(list.Items) == limit {
			list.Truncated = true
			break
		}
		// List damaged versions as such: users come here when a state cannot be read.
		var damaged *state.CorruptError
		if errors.As(err, &damaged) {
			version.Reason = "damaged: it cannot be read"
		} else if err != nil {
			return list, err
		}
		list.Items = append(list.Items, version)
	}
	return list, nil
}

// outputs serves the outputs as `tofu output -json` prints them, including sensitive values.
func (h *Handler) outputs(w http.ResponseWriter, r *http.Request, obj *infrav1.Terraform) error {
	outputs, err := h.printedOutputs(r.Context(), obj)
	if err != nil {
		return err
	}
	return writeJSON(w, outputs)
}

// printedOutputs are the outputs as `tofu output -json` prints them.
func (h *Handler) printedOutputs(ctx context.Context, obj *infrav1.Terraform) (any, error) {
	if !obj.KeepsOwnState() {
		data, err := h.readState(ctx, obj, "")
		if err != nil {
			return nil, err
		}
		file, err := statefile.Parse(data)
		if err != nil {
			return nil, err
		}
		if !file.Encrypted {
			return file.Outputs, nil
		}
	}
	if obj.Status.LastAppliedRun == "" {
		return map[string]json.RawMessage{}, nil
	}
	// Only tofu can read a custom backend; it printed the outputs after the last apply.
	rec, err := h.Runs.Record(ctx, run.StackOf(obj), obj.Status.LastAppliedRun)
	if errors.Is(err, run.ErrNotFound) || err == nil && (rec.Result == nil || len(rec.Result.Outputs) == 0) {
		return map[string]json.RawMessage{}, nil
	}
	if err != nil {
		return nil, err
	}
	return rec.Result.Outputs, nil
}

// OutputsOf reads the outputs of a stack for another part of the server: each as `tofu output -json`
// prints it, including sensitive values. There are none without a state.
func (h *Handler) OutputsOf(ctx context.Context, obj *infrav1.Terraform) (map[string]json.RawMessage, error) {
	printed, err := h.printedOutputs(ctx, obj)
	var gone *refusal
	if errors.As(err, &gone) && gone.code == http.StatusNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(printed)
	if err != nil {
		return nil, err
	}
	var outputs map[string]json.RawMessage
	return outputs, json.Unmarshal(text, &outputs)
}

// unlock releases a lock with exactly this id. The lock of an executing run belongs to the run. For a custom
// backend it answers with the run that does it.
func (h *Handler) unlock(w http.ResponseWriter, r *http.Request, obj *infrav1.Terraform) error {
	id := r.URL.Query().Get("id")
	if obj.KeepsOwnState() { // only the tool can break it
		rec, err := h.operate(r, obj, run.Request{Operation: run.OperationState, Change: &run.StateChange{Verb: run.StateUnlock, Args: []string{id}}})
		if err != nil {
			return err
		}
		return writeJSON(w, rec.Public())
	}
	holder, err := h.States.HolderNow(r.Context(), keyOf(obj))
	if err != nil {
		return err
	}
	switch {
	case holder == nil:
		return notFound(fmt.Sprintf("the state of %s/%s is not locked", obj.Namespace, obj.Name))
	case holder.ID != id:
		return &refusal{http.StatusConflict, metav1.StatusReasonConflict, fmt.Sprintf("the state of %s/%s is locked by %s, not by %q", obj.Namespace, obj.Name, holder.ID, id)}
	}
	if rec, _, ok := h.Runs.InHand(run.StackOf(obj)); ok && rec.Spec.ID == id {
		return &refusal{http.StatusConflict, metav1.StatusReasonConflict, fmt.Sprintf("lock %s belongs to a run that is executing; the run releases it when it ends", id)}
	}
	if err := h.States.Unlock(r.Context(), keyOf(obj), id); err != nil {
		return err
	}
	h.Log.Info("lock released manually", "stack", run.StackOf(obj).String(), "lock", id, "by", user(r))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func user(r *http.Request) string {
	if info, ok := request.UserFrom(r.Context()); ok {
		return info.GetName()
	}
	return "an unknown user"
}
