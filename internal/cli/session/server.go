// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"time"

	"github.com/yuba-dev/yuba/internal/gateway/content"
)

// ServerPatience is how long a version may take; a server that does not answer is no error.
const ServerPatience = 3 * time.Second

// ServerInfo asks the server who it is, without waiting for long.
func (a *App) ServerInfo(ctx context.Context) (content.ServerInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, ServerPatience)
	defer cancel()
	s, err := a.Connect()
	if err != nil {
		return content.ServerInfo{}, err
	}
	return s.Content.Server(ctx)
}
