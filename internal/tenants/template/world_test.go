// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/objects/kinds"
	"github.com/yuba-dev/yuba/internal/tenants/targets"
)

// chatty is the mapper of what is no API, and answers with a text of its own.
type chatty struct{ meta.RESTMapper }

func (chatty) RESTMapping(schema.GroupKind, ...string) (*meta.RESTMapping, error) {
	return nil, apierrors.NewGenericServerResponse(500, "get", schema.GroupResource{}, "", "password=hunter2", 0, true)
}

// Whoever writes the kubeconfig that a template names must not read in its condition what other servers say to this one.
func TestWhatATargetAnswersIsNotQuotedAboutATemplate(t *testing.T) {
	now := func() time.Time { return time.Unix(1, 0) }
	home := &targets.Cluster{Kinds: kinds.New(t.Context(), kinds.Options{Mapper: meta.NewDefaultRESTMapper(nil)})}
	target := &targets.Cluster{Name: tenantv1.ClusterTarget, Now: now}
	target.Kinds = kinds.New(t.Context(), kinds.Options{Mapper: chatty{}, Explain: target.Shown})
	_, reason := chatty{}.RESTMapping(schema.GroupKind{})
	for sentence, w := range map[string]*world{
		"it is asked for a kind":  {home: home, target: target, now: now},
		"there is no way into it": {home: home, unreachable: reason, now: now},
	} {
		_, err := w.Serves(t.Context(), schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"})
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", sentence, err)
		}
	}
}
