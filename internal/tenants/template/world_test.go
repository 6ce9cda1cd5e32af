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

// chatty is the mapper of a server that is not an API, and returns its text.
type chatty struct{ meta.RESTMapper }

func (chatty) RESTMapping(schema.GroupKind, ...string) (*meta.RESTMapping, error) {
	return nil, apierrors.NewGenericServerResponse(500, "get", schema.GroupResource{}, "", "password=hunter2", 0, true)
}

// The author of a template's kubeconfig must not read other servers' answers in its condition.
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
