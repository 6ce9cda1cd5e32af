// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestAnUploadWaitsWhileTheRegistryIsBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := apierrors.NewTooManyRequests("busy", 10)
		var told []string
		news := func(format string, args ...any) { told = append(told, fmt.Sprintf(format, args...)) }
		began, left := time.Now(), 2
		got, err := patiently(t.Context(), news, "publish acme/vpc/aws@1.0.0", func() (string, error) {
			if left--; left >= 0 {
				return "", busy
			}
			return "done", nil
		})
		if got != "done" || err != nil || time.Since(began) != 20*time.Second {
			t.Errorf("%s, %v, after %s", got, err, time.Since(began))
		}
		want := "publish acme/vpc/aws@1.0.0: the registry is busy with other uploads; the next attempt is in 10 s."
		if !slices.Equal(told, []string{want, want}) {
			t.Errorf("%q", told)
		}
		// Another error is not repeated, and a registry that stays busy ends it.
		conflict := errors.New("conflict")
		if _, err := patiently(t.Context(), news, "", func() (string, error) { return "", conflict }); !errors.Is(err, conflict) {
			t.Error(err)
		}
		attempts := 0
		if _, err := patiently(t.Context(), news, "", func() (string, error) { attempts++; return "", busy }); !apierrors.IsTooManyRequests(err) || attempts != maxAttempts {
			t.Errorf("%v after %d attempts", err, attempts)
		}
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := patiently(ctx, news, "", func() (string, error) { cancel(); return "", busy }); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
