resource "aws_lb" "this" {
  name               = substr(var.name, 0, 32)
  load_balancer_type = "network"
  internal           = false
  subnets            = [for s in var.network.subnets : s.id]
  tags               = var.labels
}

resource "aws_lb_target_group" "api" {
  name        = substr(var.name, 0, 32)
  port        = 6443
  protocol    = "TCP"
  target_type = "ip"
  vpc_id      = var.network.id
  # A machine that joins through the load balancer may reach itself.
  preserve_client_ip = "false"
  tags               = var.labels

  health_check {
    protocol            = "TCP"
    interval            = 10
    healthy_threshold   = 2
    unhealthy_threshold = 2
  }
}

resource "aws_lb_listener" "api" {
  load_balancer_arn = aws_lb.this.arn
  port              = 6443
  protocol          = "TCP"

  default_action {
    type             = "forward"
    target_group_arn = aws_lb_target_group.api.arn
  }
}
