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

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/blob"
)

// pushedRevision is the revision's name: pushed directories have no branch, only a latest version.
const pushedRevision = "latest@"

// takeArchive stores a pushed directory and points the ExternalArtifact of that name to it.
func (h *Handler) takeArchive(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	name := types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
	digest, size, err := h.Artifacts.PutArtifact(ctx, http.MaxBytesReader(w, r.Body, h.MaxArchive), h.MaxArchive)
	if err != nil {
		return err
	}
	if err := h.checkArchive(ctx, digest); err != nil {
		return badRequest(fmt.Sprintf("the archive was refused: %v", err))
	}
	changed, err := h.pointAt(ctx, name, digest, size, user(r))
	if err != nil {
		return err
	}
	return writeJSON(w, Pushed{Digest: digest, Revision: pushedRevision + digest, Size: size, Changed: changed})
}

// checkArchive refuses an archive that a runner cannot unpack, before a run fails with it.
func (h *Handler) checkArchive(ctx context.Context, digest string) error {
	packed, err := h.Artifacts.OpenArtifact(ctx, digest)
	if err != nil {
		return err
	}
	defer packed.Close() //nolint:errcheck // read only
	_, err = archive.Files(ctx, packed, archive.Limits{MaxPacked: h.MaxArchive}, digest, 0, func(string) bool { return false })
	return err
}

func (h *Handler) pointAt(ctx context.Context, name types.NamespacedName, digest string, size int64, by string) (bool, error) {
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
			"ExternalArtifact %s is managed by %s %s; push under another name", name, obj.Spec.SourceRef.Kind, obj.Spec.SourceRef.Name)}
	}
	ready := apimeta.FindStatusCondition(obj.Status.Conditions, meta.ReadyCondition)
	if a := obj.Status.Artifact; a != nil && a.Digest == digest && ready != nil && ready.Status == metav1.ConditionTrue {
		return false, nil
	}
	before := obj.DeepCopy()
	metadata := map[string]string{infrav1.ArtifactAuthors: by}
	if last := obj.Status.Artifact; last != nil {
		metadata[infrav1.ArtifactEarlier] = infrav1.EarlierAuthors(last)
	}
	obj.Status.Artifact = &meta.Artifact{Digest: digest, Revision: pushedRevision + digest, Size: &size, LastUpdateTime: metav1.Now(),
		Path: fmt.Sprintf("externalartifact/%s/%s/%s.tar.gz", name.Namespace, name.Name, digest),
		URL:  ArchiveURL(h.ArchiveURL, "externalartifacts", name, digest, h.StoreID), Metadata: metadata}
	apimeta.SetStatusCondition(&obj.Status.Conditions, metav1.Condition{Type: meta.ReadyCondition, Status: metav1.ConditionTrue,
		Reason: meta.SucceededReason, Message: "stored artifact for revision " + pushedRevision + digest, ObservedGeneration: obj.Generation})
	return true, h.Client.Status().Patch(ctx, &obj, client.MergeFrom(before))
}

// archived is a kind of source whose archives are served.
type archived interface {
	client.Object
	GetArtifact() *meta.Artifact
}

// archivedKinds maps resource names to kinds.
var archivedKinds = map[string]func() archived{
	"externalartifacts": func() archived { return &sourcev1.ExternalArtifact{} },
	"gitrepositories":   func() archived { return &sourcev1.GitRepository{} },
	"ocirepositories":   func() archived { return &sourcev1.OCIRepository{} },
	"buckets":           func() archived { return &sourcev1.Bucket{} },
	"helmrepositories":  func() archived { return &sourcev1.HelmRepository{} },
	"helmcharts":        func() archived { return &sourcev1.HelmChart{} },
}

// storeParameter is the URL parameter with the blob store's id, which outlives addresses.
const storeParameter = "store"

// ArchiveURL returns the URL of a source's archive. base is the API server's address, plural the
// resource, store the blob store's id.
func ArchiveURL(base, plural string, name types.NamespacedName, digest, store string) string {
	return fmt.Sprintf("%s%s/namespaces/%s/%s/%s/archive?digest=%s&%s=%s", base, PathPrefix, name.Namespace, plural, name.Name, digest, storeParameter, store)
}

// OwnArchive reports whether a server with this blob store, at any address, created the URL.
func OwnArchive(packed, store string) bool {
	u, err := url.Parse(packed)
	return err == nil && strings.HasPrefix(u.Path, PathPrefix+"/namespaces/") && u.Query().Get(storeParameter) == store
}

// serveArchive serves the archive of a source. It must be the source's current one.
func (h *Handler) serveArchive(plural string) func(w http.ResponseWriter, r *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		obj := archivedKinds[plural]()
		name := types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
		if err := h.Reader.Get(r.Context(), name, obj); err != nil {
			return err
		}
		a := obj.GetArtifact()
		if asked := r.URL.Query().Get("digest"); a == nil || asked != "" && asked != a.Digest {
			return notFound(fmt.Sprintf("%s %s does not have this archive, or no longer has it", plural, name))
		}
		packed, err := h.Artifacts.OpenArtifact(r.Context(), a.Digest)
		if errors.Is(err, blob.ErrNotFound) {
			// Another controller serves it, or it was lost.
			return notFound(fmt.Sprintf("the archive %s of %s %s is not in the store", a.Digest, plural, name))
		}
		if err != nil {
			return err
		}
		defer packed.Close() //nolint:errcheck // read only
		w.Header().Set("Content-Type", "application/gzip")
		if _, err := io.Copy(w, packed); err != nil {
			panic(http.ErrAbortHandler) // the client must notice that it is incomplete
		}
		return nil
	}
}
