// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/blob"
)

// pushedRevision names what was pushed: there is no branch, only a newest one.
const pushedRevision = "latest@"

// takeArchive stores a pushed directory and makes the ExternalArtifact of that name refer to it.
func (h *Handler) takeArchive(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	name := types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
	digest, size, err := h.Artifacts.PutArtifact(ctx, http.MaxBytesReader(w, r.Body, h.MaxArchive), h.MaxArchive)
	if err != nil {
		return err
	}
	if err := h.checkArchive(ctx, digest); err != nil {
		return badRequest(fmt.Sprintf("the archive is refused: %v", err))
	}
	changed, err := h.pointAt(ctx, name, digest, size)
	if err != nil {
		return err
	}
	return writeJSON(w, Pushed{Digest: digest, Revision: pushedRevision + digest, Size: size, Changed: changed})
}

// checkArchive refuses an archive that no runner would unpack: better now than in a run.
func (h *Handler) checkArchive(ctx context.Context, digest string) error {
	packed, err := h.Artifacts.OpenArtifact(ctx, digest)
	if err != nil {
		return err
	}
	defer packed.Close() //nolint:errcheck // read only
	_, err = archive.Files(ctx, packed, archive.Limits{MaxPacked: h.MaxArchive}, digest, 0, func(string) bool { return false })
	return err
}

func (h *Handler) pointAt(ctx context.Context, name types.NamespacedName, digest string, size int64) (bool, error) {
	var obj sourcev1.ExternalArtifact
	err := h.Reader.Get(ctx, name, &obj)
	if apierrors.IsNotFound(err) {
		obj = sourcev1.ExternalArtifact{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}
		err = h.Client.Create(ctx, &obj)
	}
	if err != nil {
		return false, err
	}
	if obj.Spec.SourceRef != nil {
		return false, &refusal{http.StatusConflict, metav1.StatusReasonConflict, fmt.Sprintf(
			"ExternalArtifact %s is made from %s %s; push under another name", name, obj.Spec.SourceRef.Kind, obj.Spec.SourceRef.Name)}
	}
	ready := apimeta.FindStatusCondition(obj.Status.Conditions, meta.ReadyCondition)
	if a := obj.Status.Artifact; a != nil && a.Digest == digest && ready != nil && ready.Status == metav1.ConditionTrue {
		return false, nil
	}
	before := obj.DeepCopy()
	obj.Status.Artifact = &meta.Artifact{Digest: digest, Revision: pushedRevision + digest, Size: &size, LastUpdateTime: metav1.Now(),
		Path: fmt.Sprintf("externalartifact/%s/%s/%s.tar.gz", name.Namespace, name.Name, digest),
		URL:  ArchiveURL(h.ArchiveURL, "externalartifacts", name, digest, h.StoreID)}
	apimeta.SetStatusCondition(&obj.Status.Conditions, metav1.Condition{Type: meta.ReadyCondition, Status: metav1.ConditionTrue,
		Reason: meta.SucceededReason, Message: "stored artifact for revision " + pushedRevision + digest, ObservedGeneration: obj.Generation})
	return true, h.Client.Status().Patch(ctx, &obj, client.MergeFrom(before))
}

// archived is a kind of source whose archives are served.
type archived interface {
	client.Object
	GetArtifact() *meta.Artifact
}

// archivedKinds are the kinds by the names of their resources.
var archivedKinds = map[string]func() archived{
	"externalartifacts": func() archived { return &sourcev1.ExternalArtifact{} },
	"gitrepositories":   func() archived { return &sourcev1.GitRepository{} },
	"ocirepositories":   func() archived { return &sourcev1.OCIRepository{} },
	"buckets":           func() archived { return &sourcev1.Bucket{} },
}

// storeParameter names the blob store in the URL of an archive. Servers move, and their addresses with them; their stores
// stay the same.
const storeParameter = "store"

// ArchiveURL is where the archive of a source is served; base is the API server's address, plural the resource, store the
// blob store's id.
func ArchiveURL(base, plural string, name types.NamespacedName, digest, store string) string {
	return fmt.Sprintf("%s%s/namespaces/%s/%s/%s/archive?digest=%s&%s=%s", base, PathPrefix, name.Namespace, plural, name.Name, digest, storeParameter, store)
}

// OwnArchive tells whether a URL is one that a server with this blob store gave an archive, wherever it listened then.
func OwnArchive(packed, store string) bool {
	u, err := url.Parse(packed)
	return err == nil && strings.HasPrefix(u.Path, PathPrefix+"/namespaces/") && u.Query().Get(storeParameter) == store
}

// serveArchive gives out the archive of a source, which must still be the one that is asked for.
func (h *Handler) serveArchive(plural string) func(w http.ResponseWriter, r *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		obj := archivedKinds[plural]()
		name := types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
		if err := h.Reader.Get(r.Context(), name, obj); err != nil {
			return err
		}
		a := obj.GetArtifact()
		if asked := r.URL.Query().Get("digest"); a == nil || asked != "" && asked != a.Digest {
			return notFound(fmt.Sprintf("%s %s has no such archive (any more)", plural, name))
		}
		packed, err := h.Artifacts.OpenArtifact(r.Context(), a.Digest)
		if errors.Is(err, blob.ErrNotFound) {
			// One that another controller serves, or that got lost.
			return notFound(fmt.Sprintf("the archive %s of %s %s is not in the store", a.Digest, plural, name))
		}
		if err != nil {
			return err
		}
		defer packed.Close() //nolint:errcheck // read only
		w.Header().Set("Content-Type", "application/gzip")
		if _, err := io.Copy(w, packed); err != nil {
			panic(http.ErrAbortHandler) // the client must see that it is not whole
		}
		return nil
	}
}
