// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

func TestWhichStatesAreRefactored(t *testing.T) {
	custom := infrav1.TerraformSpec{BackendConfig: &infrav1.BackendConfigSpec{CustomConfiguration: `backend "s3" {}`}}
	at := func(location string) infrav1.TerraformStatus {
		return infrav1.TerraformStatus{Backend: &infrav1.BackendStatus{Location: location}}
	}
	for what, c := range map[string]struct {
		stack infrav1.Terraform
		want  string
	}{
		"Yuba keeps it":                       {infrav1.Terraform{}, ""},
		"it was moved here":                   {infrav1.Terraform{Status: at("yuba")}, ""},
		"a custom backend":                    {infrav1.Terraform{Spec: custom}, "custom backend"},
		"a custom backend, not yet moved":     {infrav1.Terraform{Spec: custom, Status: at("yuba")}, "custom backend"},
		"still elsewhere, as the status says": {infrav1.Terraform{Status: at("s3 bucket=a")}, "yuba state migrate"},
	} {
		err := mayReshape(&c.stack, false)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
	deleted := infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{Time: time.Now()}}}
	if err := mayReshape(&deleted, true); err == nil || !strings.Contains(err.Error(), "is being deleted, and would forget what is moved there") {
		t.Errorf("into a stack that is being deleted: %v", err)
	}
	if err := mayReshape(&deleted, false); err != nil {
		t.Errorf("out of a stack that is being deleted: %v", err)
	}
}

// countedTries counts the producers of speculative plans.
type countedTries struct {
	Tries
	from int
}

func (c *countedTries) Preview(_ context.Context, _ *infrav1.Terraform, p PreviewRequest, _ io.Reader, _ string) (Try, error) {
	c.from = len(p.From)
	return Try{}, nil
}

// TestAPlanHasAllMembersOfARefactoring: otherwise a large refactoring could not be previewed.
func TestAPlanHasAllMembersOfARefactoring(t *testing.T) {
	for from, want := range map[int]int{maxMembers: maxMembers, maxMembers + 1: 0} {
		query, tries := url.Values{}, &countedTries{}
		for i := range from {
			query.Add("from", fmt.Sprintf("team-a/s%d@r%d", i, i))
		}
		h := &Handler{Tries: tries, Log: slog.New(slog.DiscardHandler)}
		err := h.startPreview(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/?"+query.Encode(), nil), &infrav1.Terraform{})
		if tries.from != want || (err == nil) != (want > 0) {
			t.Errorf("%d members: a plan with %d, %v", from, tries.from, err)
		}
	}
}
