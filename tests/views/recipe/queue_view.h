/* State of Queue, the screen that the recipe adds. */
#ifndef VIEWS_QUEUE_H
#define VIEWS_QUEUE_H

struct queue_view {
    int cursor;
};

#endif
