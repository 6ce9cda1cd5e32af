// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// TestConsumersThatReadWhatChangedAreWokenFirst: and so are those of which the status does not tell; the
// others follow, as they may have something else to do.
func TestConsumersThatReadWhatChangedAreWokenFirst(t *testing.T) {
	objs := []client.Object{contract("base", "1.2.0", baseType), stack("network", publishing("base", "1.2.0", "base"))}
	variables := map[string]string{}
	for i := range 8 {
		name := fmt.Sprintf("consumer-%d", i)
		objs = append(objs, stack(name, consuming("base", "~> 1.2", "network")))
		if variables[name] = "object({vpc_id = string})"; i == 3 || i == 6 {
			variables[name] = "object({subnets = list(string)})"
		}
	}
	w := newWorld(t, objs...)
	w.publish(t, "network", object(baseOutput, published1))
	for name, variable := range variables {
		if name == "consumer-5" {
			continue // it has never run
		}
		c := w.consume(t, in("prod", name), map[string]string{"base": variable})
		w.status(t, w.get(t, in("prod", name)), func(s *infrav1.TerraformStatus) {
			s.Contracts.Consumes[0].Read = &c.Pins[0]
			if name == "consumer-7" {
				s.Plan.Pending = "plan-main-1"
			}
		})
	}
	w.publish(t, "network", object(baseOutput, `{"vpc_id":"vpc-1","subnets":["c"]}`))
	var woken []string
	k := &Keeper{Book: w.Book, Client: w.client, Wake: func(name types.NamespacedName) { woken = append(woken, name.Name) }, Log: slog.New(slog.DiscardHandler)}
	k.wakeConsumers(t.Context(), w.get(t, in("prod", "network")))
	if len(woken) != 8 {
		t.Fatal("woken:", woken)
	}
	first := slices.Sorted(slices.Values(woken[:4]))
	if want := []string{"consumer-3", "consumer-5", "consumer-6", "consumer-7"}; !slices.Equal(first, want) {
		t.Errorf("first are %v, want %v", first, want)
	}
}
